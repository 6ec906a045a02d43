// The timeline by trial as a file: a picture of all trials, or a table of their attempts.
import type { Figure, Rows } from "../charts/export-file";
import type { LegendItem } from "../charts/legend";
import { type Attempt, endOf, leftQueue, rowCount, spanOf } from "./attempts";
import { AXIS, drawAttempts } from "./draw-attempts";
import { barToken } from "./segment-styles";

const [WIDTH, ROW, MAX_HEIGHT] = [1000, 14, 1_400]; // px; more trials share pixels
const ORDER = ["finished", "pruned", "failed", "cancelled", "running"];

export function trialTimelineFigure(attempts: readonly Attempt[], now: number): Figure {
  const rows = rowCount(attempts);
  const height = Math.min(MAX_HEIGHT, Math.max(1, rows) * ROW);
  const scene = { attempts, rows, row: height / Math.max(1, rows), top: 0, span: spanOf(attempts, now), now };
  return {
    ...{ name: "trials", title: "Timeline by trial", size: { width: WIDTH, height: height + AXIS } },
    legend: attemptLegend(attempts),
    draw: (context, size) => drawAttempts(context, size, { ...scene, lit: null, active: null }),
    rows: () => tableOf(attempts, now),
  };
}

/** The signs that occur. */
export function attemptLegend(attempts: readonly Attempt[]): LegendItem[] {
  const states = new Set(attempts.filter(({ start }) => start !== null).map(({ state }) => state));
  const items: LegendItem[] = ORDER.filter(state => states.has(state)).map(state => ({
    ...{ sign: "square", token: barToken(state), label: state },
  }));
  items.push({ sign: "line", token: "--waiting", label: "in the queue" });
  return attempts.some(({ attempt }) => attempt > 1)
    ? [...items, { sign: "note", label: "↻ and a line at the start: a repeated attempt" }]
    : items;
}

function tableOf(attempts: readonly Attempt[], now: number): Rows {
  const times = ["queued at", "started at", "ended at", "queued (s)", "running (s)"];
  const head = ["trial", "attempt", "state", "cause", "devices", ...times];
  return [
    head,
    ...attempts.map(each => [
      ...[each.number, each.attempt, each.state, each.cause, each.device],
      ...[isoOf(each.queued), isoOf(each.start), isoOf(each.end)],
      ...[round(leftQueue(each, now) - each.queued), each.start === null ? null : round(endOf(each, now) - each.start)],
    ]),
  ];
}

function isoOf(seconds: number | null): string | null {
  return seconds === null ? null : new Date(seconds * 1000).toISOString();
}

function round(seconds: number): number {
  return Math.round(seconds * 1000) / 1000;
}
