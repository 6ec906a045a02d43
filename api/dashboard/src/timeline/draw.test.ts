// Segments of the timeline: at a point, in view, muted, and described.
import { isMuted, type Lane, segmentAt, within } from "./draw";
import {
  type Bar,
  barsOf,
  barTitle,
  type DeviceLine,
  type Gap,
  gapsOf,
  reasonsOfAll,
  reasonText,
  spanText,
} from "./segments";

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

const LINE: DeviceLine = {
  id: "cpu-0",
  kind: "cpu",
  node: "n",
  present: true,
  attempts: 51,
  failed: 2,
  busy_s: 20,
  sweep_busy_s: null,
  idle_s: 10,
  closed_s: 0,
  busy_share: 0.66,
  bars: {
    start_s: [100, 120],
    end_s: [110, null],
    attempts: [50, 1],
    state: ["finished", "running"],
    failed: [2, 0],
    busy_s: [8, 10],
    sweep_id: [1, 1],
    trial_id: [null, 77],
    number: [0, 50],
    last_number: [49, 50],
  },
  gaps: { start_s: [110], end_s: [120], reason: [0], gaps: [1] },
  reasons: [{ why: "idle", reason: "sweep 1 is paused", total_s: 10, gaps: 1 }],
};

test("a running bar and a gap at the end extend to the current time", () => {
  expect(barsOf(LINE, 140).map(one => one.end)).toEqual([110, 140]);
  expect(gapsOf(LINE, 130, 140)).toMatchObject([{ end: 120 }]);
  const idle = { ...LINE, bars: { ...LINE.bars, end_s: [110, 115] } };
  expect(gapsOf(idle, 120, 140)).toMatchObject([{ end: 140, reason: "sweep 1 is paused" }]);
  expect(gapsOf(idle, 130, 140)).toMatchObject([{ end: 120 }]);
});

test("bars and gaps are described in words", () => {
  const [joined, running] = barsOf(LINE, 140) as [Bar, Bar];
  expect(barTitle(joined, { 1: "resnet" })).toBe("50 short trials of resnet (0 to 49), 2 failed");
  expect(barTitle(running, {})).toBe("Trial 50 of sweep 1: running");
  expect(spanText(joined)).toMatch(/, 8.0 s of trials in 10 s$/);
  expect(spanText(running)).toMatch(/^since .*, 20 s so far$/);
  expect(spanText(gap(0, 30))).toMatch(/, 30 s$/);
  expect(spanText({ ...gap(0, 30), gaps: 1200 })).toMatch(/, 30 s: 1,200 short gaps, mainly for this reason$/);
  expect(reasonText({ why: "idle", reason: "sweep 1 is paused" })).toBe("Sweep 1 is paused");
  expect(reasonText({ why: "between", reason: "" })).toBe("Between two trials");
});

test("the same reason on two devices is summed", () => {
  expect(reasonsOfAll([LINE, LINE])).toEqual([{ why: "idle", reason: "sweep 1 is paused", total_s: 20, gaps: 2 }]);
});
