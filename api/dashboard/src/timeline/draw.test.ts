// Segments of the timeline: at a point, in view, and muted.

import type { Bar, Gap } from "./device-bars-and-gaps";
import { isMuted, type Lane, segmentAt, within } from "./draw";

function bar(start: number, end: number, more: Partial<Bar> = {}): Bar {
  return {
    ...{ kind: "bar", start, end, isRunning: false, attempts: 1, failed: 0, busy: end - start, state: "finished" },
    ...{ sweepId: 1, trialId: start, number: start, lastNumber: start },
    ...more,
  };
}

const gap = (start: number, end: number): Gap => ({
  kind: "gap",
  start,
  end,
  why: "idle",
  reason: "no sweep is running",
  gaps: 1,
});
const lane: Lane = { id: "cpu-0", bars: [bar(0, 10), bar(20, 30), bar(30.5, 31)], gaps: [gap(10, 20)] };

test("finds the bar or the gap at a point, or nothing", () => {
  expect(segmentAt(lane, 5, 1)).toMatchObject({ kind: "bar", start: 0 });
  expect(segmentAt(lane, 15, 1)).toMatchObject({ kind: "gap", start: 10 });
  expect(segmentAt(lane, 50, 1)).toBeNull();
});

test("finds a very thin bar within a few pixels", () => {
  expect(segmentAt(lane, 31.4, 1)).toMatchObject({ kind: "bar", start: 30.5 });
  expect(segmentAt(lane, 10.5, 1)).toMatchObject({ kind: "gap" });
});

test("finds the segments in view among many", () => {
  const many = Array.from({ length: 10_000 }, (_, index) => bar(index * 2, index * 2 + 1));
  expect(within(many, { from: 1000, to: 1010 }).map(one => one.start)).toEqual([1000, 1002, 1004, 1006, 1008]);
});

test("bars of other sweeps and filtered trials are muted, merged bars are not", () => {
  const mine = bar(5, 6);
  expect(isMuted(mine, { sweepId: null, matching: null })).toBe(false);
  expect(isMuted(mine, { sweepId: 2, matching: null })).toBe(true);
  expect(isMuted(mine, { sweepId: 1, matching: new Set([5]) })).toBe(false);
  expect(isMuted(mine, { sweepId: 1, matching: new Set([9]) })).toBe(true);
  expect(isMuted(bar(5, 6, { trialId: null }), { sweepId: 1, matching: new Set([9]) })).toBe(false);
});
