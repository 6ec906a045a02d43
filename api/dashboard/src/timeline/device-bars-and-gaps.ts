// The items of the timeline: bars and gaps of each device.
import type { Schemas } from "../api";

export type Timeline = Schemas["TimelineView"];
export type DeviceLine = Schemas["DeviceTimelineView"];
export type Reason = Schemas["ReasonView"];
export type Why = Schemas["GapReason"];

const IDLE_TIME: readonly Why[] = ["between", "choosing", "idle"];

/** Whether trials could have run, so that the time lowers the busy share. */
export function isIdleTime(why: Why): boolean {
  return IDLE_TIME.includes(why);
}

/** One bar or one gap of a device. */
export type Segment =
  | {
      kind: "bar";
      start: number;
      end: number;
      isRunning: boolean;
      attempts: number;
      failed: number;
      busy: number;
      state: string;
      sweepId: number | null;
      trialId: number | null;
      number: number;
      lastNumber: number;
    }
  | { kind: "gap"; start: number; end: number; why: Why; reason: string; gaps: number }; // several: labelled by their main reason
export type Bar = Extract<Segment, { kind: "bar" }>;
export type Gap = Extract<Segment, { kind: "gap" }>;

export function barsOf({ bars }: DeviceLine, now: number): Bar[] {
  return bars.start_s.map((start, index) => ({
    kind: "bar",
    start,
    end: bars.end_s[index] ?? Math.max(now, start),
    isRunning: bars.end_s[index] === null,
    attempts: bars.attempts[index] ?? 1,
    failed: bars.failed[index] ?? 0,
    busy: bars.busy_s[index] ?? 0,
    state: bars.state[index] ?? "finished",
    sweepId: bars.sweep_id[index] ?? null,
    trialId: bars.trial_id[index] ?? null,
    number: bars.number[index] ?? 0,
    lastNumber: bars.last_number[index] ?? 0,
  }));
}

/** A gap at the end of the requested span continues until now. */
export function gapsOf({ gaps, reasons, bars }: DeviceLine, until: number, now: number): Gap[] {
  const isRunning = bars.end_s.some(end => end === null);
  return gaps.start_s.map((start, index) => {
    const end = gaps.end_s[index] ?? start;
    const { why, reason } = reasons[gaps.reason[index] ?? 0] ?? { why: "unknown", reason: "" };
    const isOngoing = !isRunning && index === gaps.start_s.length - 1 && end >= until - 0.01;
    return { kind: "gap", start, end: isOngoing ? Math.max(end, now) : end, why, reason, gaps: gaps.gaps[index] ?? 1 };
  });
}
