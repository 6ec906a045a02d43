// The attempts of trials over time: one row per trial, with the time in the queue before each attempt. Pure.
import type { Schemas } from "../api";
import { formatDuration, formatTime } from "../format";
import type { Span } from "./visible-span";

export type TrialTimeline = Schemas["TrialTimelineView"];

/** Times are seconds since the epoch. */
export type Attempt = {
  row: number; // of its trial
  trialId: number;
  number: number; // of the trial
  attempt: number; // 0: the trial has none
  state: string;
  cause: string | null;
  device: string | null;
  queued: number;
  start: number | null; // null: it has not started
  end: number | null; // null: it runs or waits
};

/** By trial and attempt. */
export function attemptsOf({ from_s, columns }: TrialTimeline): Attempt[] {
  let row = -1;
  const at = (seconds: number | null | undefined) => (typeof seconds === "number" ? from_s + seconds : null);
  return columns.id.map((trialId, index) => {
    if (index === 0 || columns.id[index - 1] !== trialId) row += 1;
    return {
      ...{ row, trialId, number: columns.number[index] ?? 0, attempt: columns.attempt[index] ?? 0 },
      ...{ state: columns.state[index] ?? "waiting", cause: columns.cause[index] ?? null },
      device: columns.device[index] ?? null,
      queued: at(columns.queued_s[index]) ?? from_s,
      start: at(columns.start_s[index]),
      end: at(columns.end_s[index]),
    };
  });
}

export function rowCount(attempts: readonly Attempt[]): number {
  return (attempts.at(-1)?.row ?? -1) + 1;
}

/** The attempts of the rows from `first` to before `last`. */
export function attemptsIn(attempts: readonly Attempt[], first: number, last: number): readonly Attempt[] {
  return attempts.slice(firstIndex(attempts, first), firstIndex(attempts, last));
}

function firstIndex(attempts: readonly Attempt[], row: number): number {
  let [low, high] = [0, attempts.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((attempts[middle] as Attempt).row < row) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** When an attempt left the queue: now, if it has not. */
export function leftQueue({ start, end }: Attempt, now: number): number {
  return start ?? end ?? now;
}

/** When an attempt ended: now, if it has not. */
export function endOf({ start, end }: Attempt, now: number): number {
  return end ?? Math.max(now, start ?? now);
}

/** From the first wait to the last end, with some room. */
export function spanOf(attempts: readonly Attempt[], now: number): Span {
  let [from, to] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const attempt of attempts) {
    from = Math.min(from, attempt.queued);
    to = Math.max(to, endOf(attempt, now));
  }
  if (from > to) return { from: now - 60, to: now };
  const room = Math.max((to - from) * 0.015, 0.05);
  return { from: from - room, to: to + room };
}

export function isLive(attempts: readonly Attempt[]): boolean {
  return attempts.some(({ state }) => state === "running" || state === "waiting");
}

/** The index of the attempt nearest to a time, among the rows from `first` to before `last`; -1 if there is none. */
export function nearestAttempt(
  attempts: readonly Attempt[],
  { first, last }: { first: number; last: number },
  time: number,
  now: number,
): number {
  let [found, least] = [-1, Number.POSITIVE_INFINITY];
  for (let index = firstIndex(attempts, first); index < attempts.length; index += 1) {
    const attempt = attempts[index] as Attempt;
    if (attempt.row >= last) break;
    const distance = Math.max(attempt.queued - time, time - endOf(attempt, now), 0);
    if (distance < least) [found, least] = [index, distance];
  }
  return found;
}

/** What people read about an attempt: title and details. */
export function describe(attempt: Attempt, now: number): { title: string; details: string } {
  const { number, attempt: place, state, cause, device, queued, start } = attempt;
  const name = place > 1 ? `Trial ${number}, attempt ${place}` : `Trial ${number}`;
  const reason = cause === null ? "" : ` (${cause.replaceAll("_", " ")})`;
  const waited = formatDuration(leftQueue(attempt, now) - queued);
  const ran = start === null ? "" : formatDuration(endOf(attempt, now) - start);
  const parts = [
    device === null ? "" : `on ${device}`,
    start === null ? `queued for ${waited}, not started` : `queued for ${waited}`,
    ran && (state === "running" ? `running for ${ran}` : `ran for ${ran}`),
    `from ${formatTime(start ?? queued)}`,
  ];
  return { title: `${name}: ${state}${reason}`, details: parts.filter(Boolean).join(", ") };
}
