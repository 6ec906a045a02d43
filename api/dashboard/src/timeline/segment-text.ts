// The wording of the timeline: names of kinds of gaps, and descriptions of bars, gaps and reasons.
import { formatCount, formatDuration, formatTime } from "../format";
import type { Bar, Gap, Segment, Why } from "./device-bars-and-gaps";

type GapLabel = { name: string; description: string };

/** `description`: what is shown for a gap without a reason of its own. */
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

export function reasonText({ why, reason }: { why: Why; reason: string }): string {
  const text = reason || GAP_KINDS[why].description;
  return text.charAt(0).toUpperCase() + text.slice(1);
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
