// Virtual rows of a long table: rows in view, and scrolling to a row.
import { act, renderHook } from "@testing-library/react";
import { useRows } from "./use-virtual-rows";

class Frame extends EventTarget {
  scrollTop = 0;
  clientHeight = 378; // the head and ten rows
}

function opened(count: number) {
  vi.stubGlobal(
    "ResizeObserver",
    class {
      observe() {}
      disconnect() {}
    },
  );
  const frame = new Frame();
  const { result } = renderHook(() => useRows(count));
  act(() => {
    result.current.frame(frame as unknown as HTMLElement);
  });
  const scrolled = (top: number) =>
    act(() => {
      frame.scrollTop = top;
      frame.dispatchEvent(new Event("scroll"));
    });
  return { frame, result, scrolled };
}

afterEach(() => vi.unstubAllGlobals());

test("renders the rows in view with some before and after, and reserves the height of the others", () => {
  const { result, scrolled } = opened(50_000);
  expect([result.current.first, result.current.last]).toEqual([0, 24]);
  scrolled(34 * 1000);
  const { first, last, above, below } = result.current;
  expect([first, last]).toEqual([988, 1024]);
  expect(above + (last - first + 1) * 34 + below).toBe(50_000 * 34);
  scrolled(34 * 50_000);
  expect([result.current.last, result.current.below]).toEqual([49_999, 0]);
});

test("renders all rows if they fit, and handles an empty table", () => {
  expect(opened(3).result.current).toMatchObject({ first: 0, last: 2, above: 0, below: 0 });
  expect(opened(0).result.current).toMatchObject({ first: 0, last: -1, above: 0, below: 0 });
});

test("a row out of view is scrolled to the nearest edge, a row in view stays in place", () => {
  const { frame, result } = opened(100);
  result.current.scrollTo(9);
  expect(frame.scrollTop).toBe(0);
  result.current.scrollTo(10);
  expect(frame.scrollTop).toBe(34);
  result.current.scrollTo(50);
  expect(frame.scrollTop).toBe(51 * 34 + 38 - 378);
  result.current.scrollTo(5);
  expect(frame.scrollTop).toBe(5 * 34);
});
