// Bars, gaps and device lines for timeline tests.
import type { TrialTimeline } from "./attempts";
import type { Bar, DeviceLine, Gap, Reason } from "./device-bars-and-gaps";

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

type AttemptFixture = {
  number: number;
  attempt?: number;
  state?: string;
  cause?: string;
  queued?: number;
  start?: number;
  end?: number;
};

/** The timeline by trial; times are seconds after its start. An attempt that has started has a device. */
export function timelineFixture(attempts: readonly AttemptFixture[]): TrialTimeline {
  return {
    matching: new Set(attempts.map(({ number }) => number)).size,
    shown: new Set(attempts.map(({ number }) => number)).size,
    from_s: 1_700_000_000,
    now_s: 1_700_000_030,
    columns: {
      id: attempts.map(({ number }) => 100 + number),
      number: attempts.map(({ number }) => number),
      attempt: attempts.map(({ attempt }) => attempt ?? 1),
      state: attempts.map(({ state }) => state ?? "finished"),
      cause: attempts.map(({ cause }) => cause ?? null),
      device: attempts.map(({ start }) => (start === undefined ? null : "gpu-0")),
      queued_s: attempts.map(({ queued }) => queued ?? 0),
      start_s: attempts.map(({ start }) => start ?? null),
      end_s: attempts.map(({ end }) => end ?? null),
    },
  };
}
