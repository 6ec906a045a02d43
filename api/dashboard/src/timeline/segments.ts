// The items of the timeline: bars and gaps, their kinds, and their descriptions.
import type { Schemas } from "../api";
import { formatCount, formatDuration, formatTime } from "../format";

export type Timeline = Schemas["TimelineView"];
export type DeviceLine = Schemas["DeviceTimelineView"];
export type Reason = Schemas["ReasonView"];
export type Why = Schemas["GapReason"];

type GapLabel = { name: string; description: string };

/** `alone`: the description of a gap without a reason of its own. */
export const GAP_KINDS: Record<Why, GapLabel> = {
  between: { name: "Between two trials", description: "Between two trials" },
  choosing: { name: "Waiting for search", description: "The search was proposing the next trial" },
  idle: { name: "Idle", description: "No trial could run" },
  dedicated: { name: "Held by an ensemble", description: "Reserved for an ensemble" },
  drained: { name: "Drained", description: "Takes no trials until it is returned" },
  lost: { name: "Lost", description: "Worker lost" },
  starting: { name: "Starting", description: "Starting" },
  down: { name: "Service down", description: "The service was not running" },
  unknown: { name: "Not recorded", description: "The reason is no longer recorded" },
  absent: { name: "Not present", description: "Device not present" },
};

const IDLE_TIME: readonly Why[] = ["between", "choosing", "idle"];

/** Whether trials could have run, so that the time lowers the busy share. */
export function isIdleTime(why: Why): boolean {
  return IDLE_TIME.includes(why);
}

export function reasonText({ why, reason }: { why: Why; reason: string }): string {
  const text = reason || GAP_KINDS[why].description;
  return text.charAt(0).toUpperCase() + text.slice(1);
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

/** "Trial 17 of resnet: finished" */
export function barTitle(bar: Bar, names: Record<string, string>, withState = true): string {
  const sweep = bar.sweepId === null ? "several sweeps" : (names[bar.sweepId] ?? `sweep ${bar.sweepId}`);
  if (bar.attempts === 1) return `Trial ${bar.number} of ${sweep}${withState ? `: ${bar.state}` : ""}`;
  const failed = bar.failed > 0 ? `, ${formatCount(bar.failed)} failed` : "";
  return `${formatCount(bar.attempts)} short trials of ${sweep} (${bar.number} to ${bar.lastNumber})${failed}`;
}

/** "14:03:22, 12 s" */
export function spanText(piece: Segment): string {
  const duration = formatDuration(piece.end - piece.start);
  const start = formatTime(piece.start).slice(11);
  if (piece.kind === "bar" && piece.isRunning) return `since ${start}, ${duration} so far`;
  if (piece.kind === "bar" && piece.attempts > 1)
    return `from ${start}, ${formatDuration(piece.busy)} of trials in ${duration}`;
  if (piece.kind === "gap" && piece.gaps > 1) return `from ${start}, ${duration}: ${mergedText(piece)}`;
  return `from ${start}, ${duration}`;
}

/** For a segment that merges several gaps. */
export function mergedText({ gaps }: Gap): string {
  return `${formatCount(gaps)} short gaps, mainly for this reason`;
}

/** The reasons of all devices, the longest first. */
export function reasonsOfAll(lines: readonly DeviceLine[]): Reason[] {
  const all = new Map<string, Reason>();
  for (const { reasons } of lines)
    for (const one of reasons) {
      const key = `${one.why}/${one.reason}`;
      const known = all.get(key);
      all.set(key, {
        ...one,
        total_s: one.total_s + (known?.total_s ?? 0),
        gaps: one.gaps + (known?.gaps ?? 0),
      });
    }
  return [...all.values()].sort((one, other) => other.total_s - one.total_s);
}
