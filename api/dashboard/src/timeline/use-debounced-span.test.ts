// Zooming in steps: each step is shown, the last one is reported.
import { act, renderHook } from "@testing-library/react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { useDebouncedSpan } from "./use-debounced-span";
import type { Span } from "./visible-span";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("every step is shown immediately, and the last one is reported after a pause", () => {
  const tell = vi.fn();
  const { result, rerender, unmount } = renderHook(({ span }: { span: Span | null }) => useDebouncedSpan(span, tell), {
    initialProps: { span: null as Span | null },
  });
  for (const to of [50, 40, 30]) {
    act(() => result.current[1]({ from: 10, to }));
    expect(result.current[0]).toEqual({ from: 10, to });
    act(() => void vi.advanceTimersByTime(100));
  }
  expect(tell).not.toHaveBeenCalled();
  act(() => void vi.advanceTimersByTime(100));
  expect(tell.mock.calls).toEqual([[{ from: 10, to: 30 }]]);
  rerender({ span: { from: 10, to: 30 } });
  expect(result.current[0]).toEqual({ from: 10, to: 30 });
  rerender({ span: null });
  expect(result.current[0]).toBeNull();
  act(() => result.current[1]({ from: 1, to: 2 }));
  unmount();
  act(() => void vi.advanceTimersByTime(1_000));
  expect(tell).toHaveBeenCalledTimes(1);
});
