// Bars, gaps and reasons of a device from the columns of the service.

import { barsOf, type DeviceLine, gapsOf } from "./device-bars-and-gaps";
import { reasonsOfAll } from "./idle-reason-totals";

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

test("a bar has the figures of its columns", () => {
  const merged = { attempts: 50, failed: 2, busy: 8, state: "finished", trialId: null, number: 0, lastNumber: 49 };
  const running = { attempts: 1, isRunning: true, state: "running", sweepId: 1, trialId: 77, number: 50 };
  expect(barsOf(LINE, 140)).toMatchObject([merged, running]);
});

test("a running bar and a gap at the end extend to the current time", () => {
  expect(barsOf(LINE, 140).map(one => one.end)).toEqual([110, 140]);
  expect(gapsOf(LINE, 130, 140)).toMatchObject([{ end: 120 }]);
  const idle = { ...LINE, bars: { ...LINE.bars, end_s: [110, 115] } };
  expect(gapsOf(idle, 120, 140)).toMatchObject([{ end: 140, reason: "sweep 1 is paused" }]);
  expect(gapsOf(idle, 130, 140)).toMatchObject([{ end: 120 }]);
});

test("the same reason on two devices is summed", () => {
  expect(reasonsOfAll([LINE, LINE])).toEqual([{ why: "idle", reason: "sweep 1 is paused", total_s: 20, gaps: 2 }]);
});

test("reasons with the same text are one, also if they are of different kinds", () => {
  const reason = (why: "idle" | "between" | "drained", total_s: number) => ({
    why,
    reason: "nothing to run",
    total_s,
    gaps: 1,
  });
  const line = { ...LINE, reasons: [reason("between", 3), reason("idle", 10), reason("drained", 2)] };
  expect(reasonsOfAll([line])).toEqual([
    { why: "idle", reason: "nothing to run", total_s: 13, gaps: 2 },
    { why: "drained", reason: "nothing to run", total_s: 2, gaps: 1 },
  ]);
});
