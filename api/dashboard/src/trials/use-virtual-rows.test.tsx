// Virtual rows of a long table: rows in view, and scrolling to a row.
import { act, renderHook, waitFor } from "@testing-library/react";
import { useRows } from "./use-virtual-rows";

const ROW = 28;
const HEAD = 32;

/** The page: it shows the head of the table and ten rows. */
class Page extends EventTarget {
  scrollTop = 0;
  clientHeight = HEAD + 10 * ROW;
  getBoundingClientRect = () => ({ top: 52 });
}

/** A table that starts `above` px below the top of the page. */
function opened(count: number, above = 0) {
  vi.stubGlobal(
    "ResizeObserver",
    class {
      observe() {}
      disconnect() {}
    },
  );
  const page = new Page();
  const frame = { closest: () => page, getBoundingClientRect: () => ({ top: 52 + above - page.scrollTop }) };
  const { result } = renderHook(() => useRows(count));
  act(() => {
    result.current.frame(frame as unknown as HTMLElement);
  });
  const scrolled = (top: number) =>
    act(() => {
      page.scrollTop = top;
      page.dispatchEvent(new Event("scroll"));
    });
  return { page, result, scrolled };
}

afterEach(() => {
  vi.unstubAllGlobals();
  document.documentElement.style.removeProperty("--sticky");
});

test("renders the rows in view with some before and after, and reserves the height of the others", async () => {
  vi.stubGlobal("innerHeight", 480);
  const { result, scrolled } = opened(50_000);
  expect([result.current.first, result.current.last]).toEqual([0, 12]); // nothing ahead before the page is idle
  await waitFor(() => expect([result.current.first, result.current.last]).toEqual([0, 24]));
  scrolled(ROW * 1000);
  const { first, last, above, below } = result.current;
  expect([first, last]).toEqual([988, 1024]);
  expect(above + (last - first + 1) * ROW + below).toBe(50_000 * ROW);
  scrolled(ROW * 50_000);
  expect([result.current.last, result.current.below]).toEqual([49_999, 0]);
});

test("renders all rows if they fit, and handles an empty table", () => {
  expect(opened(3).result.current).toMatchObject({ first: 0, last: 2, above: 0, below: 0 });
  expect(opened(0).result.current).toMatchObject({ first: 0, last: -1, above: 0, below: 0 });
});

test("a row out of view is scrolled to the nearest edge, a row in view stays in place", () => {
  const { page, result } = opened(100);
  result.current.scrollTo(9);
  expect(page.scrollTop).toBe(0);
  result.current.scrollTo(10);
  expect(page.scrollTop).toBe(ROW);
  result.current.scrollTo(50);
  expect(page.scrollTop).toBe(51 * ROW + HEAD - (HEAD + 10 * ROW));
  result.current.scrollTo(5);
  expect(page.scrollTop).toBe(5 * ROW);
});

test("what is above the table is part of the page's height", () => {
  const { page, result, scrolled } = opened(100, 400);
  scrolled(380);
  expect(result.current.first).toBe(0);
  scrolled(400 + ROW * 20);
  expect(result.current.first).toBe(8);
  result.current.scrollTo(90);
  expect(page.scrollTop).toBe(400 + 91 * ROW + HEAD - (HEAD + 10 * ROW));
  result.current.scrollTo(0);
  expect(page.scrollTop).toBe(400);
});

test("a new result starts at its first row, without moving a page that shows it", () => {
  const { page, result } = opened(100, 400);
  page.scrollTop = 2_000;
  result.current.toTop();
  expect(page.scrollTop).toBe(400);
  page.scrollTop = 120;
  result.current.toTop();
  expect(page.scrollTop).toBe(120);
});

test("rows are scrolled to below what stays above the table", () => {
  document.documentElement.style.setProperty("--sticky", "180px");
  const { page, result } = opened(100, 400);
  result.current.scrollTo(50);
  page.scrollTop = 2_000;
  result.current.scrollTo(5);
  expect(page.scrollTop).toBe(400 + 5 * ROW - 180);
  page.scrollTop = 2_000;
  result.current.toTop();
  expect(page.scrollTop).toBe(400 - 180);
});
