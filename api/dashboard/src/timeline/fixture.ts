// Bars, gaps and device lines for timeline tests.
import type { Bar, DeviceLine, Gap, Reason } from "./segments";

export function barFixture(start: number, end: number, changes: Partial<Bar> = {}): Bar {
  return {
    ...{ kind: "bar", start, end, isRunning: false, attempts: 1, failed: 0, busy: end - start, state: "finished" },
    ...{ sweepId: 1, trialId: 100 + start, number: start, lastNumber: start },
    ...changes,
  };
}

export function gapFixture(start: number, end: number, changes: Partial<Gap> = {}): Gap {
  return { kind: "gap", start, end, why: "idle", reason: "no sweep is running", gaps: 1, ...changes };
}

export function reasonFixture(total_s: number, changes: Partial<Reason> = {}): Reason {
  return { why: "idle", reason: "no sweep is running", total_s, gaps: 1, ...changes };
}

/** A device with one finished bar of 60 s and one gap of 60 s. */
export function lineFixture(id: string, changes: Partial<DeviceLine> = {}): DeviceLine {
  return {
    ...{ id, kind: "cpu", node: "node", present: true, attempts: 1, failed: 0 },
    ...{ busy_s: 60, sweep_busy_s: null, idle_s: 60, closed_s: 0, busy_share: 0.5 },
    bars: {
      ...{ start_s: [0], end_s: [60], attempts: [1], state: ["finished"], failed: [0], busy_s: [60] },
      ...{ sweep_id: [1], trial_id: [7], number: [0], last_number: [0] },
    },
    gaps: { start_s: [60], end_s: [120], reason: [0], gaps: [1] },
    reasons: [reasonFixture(60)],
    ...changes,
  };
}
