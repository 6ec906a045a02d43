// Charts that are rendered when they come near, and change only while they are in view.
import { act, render, screen } from "@testing-library/react";
import { LazyChart } from "./lazy-chart";

let observers: { margin: string | undefined; report: (isIntersecting: boolean) => void }[];

beforeEach(() => {
  observers = [];
  vi.stubGlobal(
    "IntersectionObserver",
    class {
      constructor(report: (entries: { isIntersecting: boolean }[]) => void, options: { rootMargin?: string }) {
        observers.push({
          margin: options.rootMargin,
          report: isIntersecting => act(() => report([{ isIntersecting }])),
        });
      }
      observe() {}
      disconnect() {}
    },
  );
});
afterEach(() => vi.unstubAllGlobals());

const report = (margin: string, isIntersecting: boolean) =>
  observers
    .filter(each => each.margin === margin)
    .at(-1)
    ?.report(isIntersecting);
const chart = (text: string) => <LazyChart height={100}>{text}</LazyChart>;

test("a chart is rendered when it is nearly in view", () => {
  render(chart("one"));
  expect(screen.queryByText("one")).toBeNull();
  report("300px", true);
  expect(screen.getByText("one")).toBeVisible();
});

test("out of view, a chart stays as it is; back in view, it is current", () => {
  const { rerender } = render(chart("one"));
  report("40px", false);
  report("300px", true);
  expect(screen.getByText("one")).toBeVisible();
  rerender(chart("two"));
  rerender(chart("three"));
  expect(screen.getByText("one")).toBeVisible();
  report("40px", true);
  expect(screen.getByText("three")).toBeVisible();
  rerender(chart("four"));
  expect(screen.getByText("four")).toBeVisible();
});

test("a printed page shows the current state of all charts", () => {
  const { rerender } = render(chart("one"));
  report("300px", true);
  report("40px", false);
  rerender(chart("two"));
  expect(screen.getByText("one")).toBeVisible();
  act(() => void window.dispatchEvent(new Event("beforeprint")));
  expect(screen.getByText("two")).toBeVisible();
});

test("an eager chart is rendered at once", () => {
  render(
    <LazyChart height={100} eager>
      now
    </LazyChart>,
  );
  expect(screen.getByText("now")).toBeVisible();
});
