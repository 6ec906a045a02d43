// Trials that ended without a result, or still run: drawn at their last report, hollow or crossed. Pure.
import { formatCount } from "../format";
import { figureOf } from "../trials/metric-summary-columns";
import type { Scalar } from "./axis";
import type { LegendItem } from "./legend";
import { columnOf, type Points } from "./trial-columns";

const FINISHED = "finished";

/** The points with the last report of the objective as the value of trials without one. */
export function withReports(points: Points): Points {
  const reports = columnOf(points, "reported");
  if (!reports.some(report => report !== null)) return points;
  const values = columnOf(points, "value").map((value, row) => value ?? reports[row] ?? null);
  const [first] = points.objectives;
  const own = points.objectives.length > 1 && first ? { [`values.${first.name}`]: values } : {};
  return { ...points, columns: { ...points.columns, value: values, ...own } };
}

/** The points without the figures of metrics of unfinished trials. */
export function onlyFinished(points: Points): Points {
  const states = columnOf(points, "state");
  const entries = Object.entries(points.columns).map(([key, column]) => [
    key,
    figureOf(key) ? column.map((value, row) => (states[row] === FINISHED ? value : null)) : column,
  ]);
  return { ...points, columns: Object.fromEntries(entries) };
}

export function isUnfinished(state: Scalar | undefined): boolean {
  return state !== undefined && state !== FINISHED;
}

/** The column with only the values of finished trials: what ranks and colours compare. */
export function finishedOf(points: Points, key: string): readonly Scalar[] {
  const states = columnOf(points, "state");
  return columnOf(points, key).map((value, row) => (states[row] === FINISHED ? value : null));
}

export type UnfinishedCounts = { failed: number; others: number; missing: number };

/** How many drawn trials have failed or are unfinished otherwise, and how many ended without any value. */
export function countUnfinished(points: Points, key: string, inside: Uint8Array): UnfinishedCounts {
  const [states, values] = [columnOf(points, "state"), columnOf(points, key)];
  const counts = { failed: 0, others: 0, missing: 0 };
  states.forEach((state, row) => {
    if (!inside[row] || !isUnfinished(state)) return;
    if (typeof values[row] !== "number") counts.missing += state === "pruned" || state === "failed" ? 1 : 0;
    else if (state === "failed") counts.failed += 1;
    else counts.others += 1;
  });
  return counts;
}

/** The legend of trials that are drawn without a result. */
export function unfinishedItems({ failed, others }: UnfinishedCounts): LegendItem[] {
  const items: LegendItem[] = [];
  if (others > 0)
    items.push({ sign: "ring", token: "--pruned", label: `${formatCount(others)} pruned or running, last value` });
  if (failed > 0) items.push({ sign: "cross", token: "--failed", label: `${formatCount(failed)} failed, last value` });
  return items;
}
