// The visible span in the URL: written with milliseconds, read back, and invalid values ignored.
import { act, renderHook } from "@testing-library/react";
import { spanOf, useViewState } from "./view-state";

beforeEach(() => window.history.replaceState(null, "", "/devices?range=7d"));

test.each([
  ["", "", null],
  ["10", "", null],
  ["20", "10", null],
  ["5", "5", null],
  ["x", "30", null],
  ["-5", "30", null],
  ["5", "<img>", null],
  ["10", "30", { from: 10, to: 30 }],
  ["100", "200.5", { from: 100, to: 200.5 }],
])("from %j to %j is %j", (from, to, span) => expect(spanOf(from, to)).toEqual(span));

test("a span is stored in the URL and read from it", () => {
  const { result } = renderHook(() => useViewState());
  expect(result.current.span).toBeNull();
  act(() => result.current.onSpan({ from: 1_700_000_000.25, to: 1_700_000_060 }));
  expect(window.location.search).toBe("?range=7d&from=1700000000.250&to=1700000060.000");
  expect(result.current.span).toEqual({ from: 1_700_000_000.25, to: 1_700_000_060 });
});

test("showing everything removes the span and keeps the rest", () => {
  const { result } = renderHook(() => useViewState());
  act(() => result.current.onSpan({ from: 1, to: 2 }));
  act(() => result.current.onSpan(null));
  expect(window.location.search).toBe("?range=7d");
});

test("the table view is in the URL", () => {
  const { result } = renderHook(() => useViewState());
  act(() => result.current.onAsTable(true));
  expect(result.current.asTable).toBe(true);
  expect(window.location.search).toBe("?range=7d&as=table");
  act(() => result.current.onAsTable(false));
  expect(window.location.search).toBe("?range=7d");
});
