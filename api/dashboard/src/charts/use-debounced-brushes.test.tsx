// Brushes move immediately; the filter in the URL is debounced.
import { act, renderHook } from "@testing-library/react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { numberAxis } from "./axis";
import { readBrushes } from "./brush-filter-terms";
import { pointsOf } from "./fixture";
import type { ChartPoints } from "./queries";
import { useBrushedRows } from "./use-brushed-rows";
import { useDebouncedBrushes } from "./use-debounced-brushes";

const LR = numberAxis("params.lr", "lr", [0, 1]);
const brush = (high: number) => ({ "params.lr": { low: 0, high } });

beforeEach(() => {
  vi.useFakeTimers();
  window.history.replaceState(null, "", "/sweeps/1/analysis");
});
afterEach(() => vi.useRealTimers());

function show(first = "") {
  return renderHook(
    ({ filter }) => {
      const found = readBrushes(filter, [LR]);
      const charts = { ...found, parameters: [LR], outcomes: [] } as unknown as ChartPoints;
      return useDebouncedBrushes(charts, filter);
    },
    { initialProps: { filter: first } },
  );
}

const written = () => new URLSearchParams(window.location.search).get("filter");

test("a held key moves the brush at every press and writes the filter once, after a pause", () => {
  const write = vi.spyOn(window.history, "replaceState");
  const { result, rerender } = show();
  for (const high of [0.9, 0.8, 0.7]) act(() => result.current.onBrushes(brush(high), false));
  expect(result.current.brushes).toEqual(brush(0.7));
  expect([written(), result.current.moving]).toEqual([null, true]);
  act(() => void vi.advanceTimersByTime(300));
  expect(written()).toBe("lr:0..0.7");
  expect(write).toHaveBeenCalledTimes(1);
  rerender({ filter: "lr:0..0.7" });
  expect([result.current.brushes, result.current.moving]).toEqual([brush(0.7), false]);
});

test("a released brush is written once the charts are drawn, one that loses the focus immediately", () => {
  const { result, rerender } = show();
  act(() => result.current.onBrushes(brush(0.5), true));
  expect([result.current.brushes, written()]).toEqual([brush(0.5), null]);
  act(() => void vi.advanceTimersByTime(120));
  expect(written()).toBe("lr:0..0.5");
  rerender({ filter: "lr:0..0.5" });
  act(() => result.current.onBrushes(brush(0.4), false));
  act(() => result.current.onCommit());
  expect(written()).toBe("lr:0..0.4");
});

test("a single key is written soon, keys in quick succession once, after the last one", () => {
  const write = vi.spyOn(window.history, "replaceState").mockClear();
  const { result } = show();
  for (let press = 1; press <= 10; press += 1) {
    act(() => result.current.onBrushes(brush(1 - press / 20), true));
    act(() => void vi.advanceTimersByTime(100));
  }
  expect(write).not.toHaveBeenCalled();
  act(() => void vi.advanceTimersByTime(150));
  expect(write).toHaveBeenCalledTimes(1);
  expect(written()).toBe("lr:0..0.5");
  act(() => void vi.advanceTimersByTime(300));
  act(() => result.current.onBrushes(brush(0.25), true));
  act(() => void vi.advanceTimersByTime(120));
  expect(written()).toBe("lr:0..0.25");
});

test("a filter set elsewhere replaces a brush that was not written yet", () => {
  const { result, rerender } = show();
  act(() => result.current.onBrushes(brush(0.5), false));
  rerender({ filter: "lr:0..0.2" });
  expect(result.current.brushes).toEqual(brush(0.2));
  act(() => void vi.advanceTimersByTime(1_000));
  expect(written()).toBe(null);
});

test("equal rows are the same array, which avoids a redraw", () => {
  const points = pointsOf({ "params.lr": [0.1, 0.5, 0.9] });
  const { result, rerender } = renderHook(({ high }) => useBrushedRows(points, brush(high)), {
    initialProps: { high: 0.6 },
  });
  const first = result.current;
  expect([...first]).toEqual([1, 1, 0]);
  rerender({ high: 0.7 });
  expect(result.current).toBe(first);
  rerender({ high: 0.4 });
  expect([...result.current]).toEqual([1, 0, 0]);
});
