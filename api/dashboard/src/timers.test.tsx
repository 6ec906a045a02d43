// Hooks on timers: the current time, and debounced values.
import { act, renderHook } from "@testing-library/react";
import { useDebounced } from "./use-debounced";
import { useNow } from "./use-now";

beforeEach(() => {
  vi.useFakeTimers();
  vi.setSystemTime(100_000);
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

const later = (ms: number) => act(() => void vi.advanceTimersByTime(ms));

test("the time advances every second", () => {
  const { result } = renderHook(() => useNow());
  later(999);
  expect(result.current).toBe(100_000);
  later(1);
  expect(result.current).toBe(101_000);
});

test("the time stands still while disabled or in a hidden tab", () => {
  const stopped = renderHook(() => useNow(false)).result;
  const hidden = renderHook(() => useNow()).result;
  vi.spyOn(document, "visibilityState", "get").mockReturnValue("hidden");
  later(5_000);
  expect([stopped.current, hidden.current]).toEqual([100_000, 100_000]);
  vi.restoreAllMocks();
  later(1_000);
  expect(hidden.current).toBe(106_000);
});

test("the timer ends with the component", () => {
  const { unmount } = renderHook(() => useNow());
  unmount();
  expect(vi.getTimerCount()).toBe(0);
});

test("a debounced value follows after a pause, with the last value only", () => {
  const seen: string[] = [];
  const { rerender } = renderHook(
    ({ value }) => {
      const debounced = useDebounced(value, 200);
      if (seen.at(-1) !== debounced) seen.push(debounced);
    },
    { initialProps: { value: "a" } },
  );
  rerender({ value: "ab" });
  later(150);
  rerender({ value: "abc" });
  later(150);
  expect(seen).toEqual(["a"]);
  later(50);
  expect(seen).toEqual(["a", "abc"]);
});
