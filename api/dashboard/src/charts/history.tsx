// Optimization history: the value of every trial in order, and the best so far.
import { memo, useMemo } from "react";
import { formatCount, formatNumber } from "../format";
import { type Axis, numberAxis, placeOn, type Scalar, titleOf, withRoom } from "./axis";
import { countIn } from "./brush-filter-terms";
import type { LegendItem } from "./legend";
import type { Point } from "./plot-area-and-grid";
import type { LogChoice } from "./result-axis-scale";
import { Scatter } from "./scatter";
import { columnOf, numbersOf, type Points } from "./trial-columns";
import { countUnfinished, type UnfinishedCounts, unfinishedItems } from "./unfinished";
import { useValueAxis } from "./use-result-axis";

export type HistoryProps = {
  points: Points;
  metric: Axis;
  by: "number" | "time";
  log: LogChoice;
  inside: Uint8Array;
  active: number | null;
  selected: ReadonlySet<number>;
  onActive: (row: number | null) => void;
  onOpen?: (row: number) => void;
};

export const History = memo(function History({ points, metric, by, log, inside, ...rest }: HistoryProps) {
  const { xs, name } = useMemo(() => across(points, by), [points, by]);
  const x = useMemo(() => {
    const numbers = xs.filter(value => typeof value === "number") as number[];
    const isNumber = by === "number";
    const kind = isNumber ? { integer: true } : { unit: "duration" as const };
    return withRoom(numberAxis(isNumber ? "number" : "time", name, numbers, kind), 0.02);
  }, [xs, name, by]);
  const y = useValueAxis(points, metric, log, inside);
  const best = useMemo(() => bestSoFar(points, metric, xs, inside), [points, metric, xs, inside]);
  const line = useMemo(() => steps(best, x, y), [best, x, y]);
  const last = best.at(-1);
  const beyond = useMemo(
    () => numbersOf(points, metric.key, inside).filter(value => value < y.low || value > y.high).length,
    [points, metric, inside, y],
  );
  const counts = useMemo(() => countUnfinished(points, metric.key, inside), [points, metric.key, inside]);
  const marked = useMemo(() => (last ? [last.row] : []), [last]);
  const label = last
    ? `${metric.name} of ${formatCount(countIn(inside))} trials. Best ${formatNumber(last.value)}, by trial ${columnOf(points, "number")[last.row]}, after ${best.length} improvements.`
    : metric.goal
      ? `${metric.name}: no trial has finished.`
      : `${metric.name} of ${formatCount(countIn(inside))} trials.`;
  const bestAt = useMemo(() => new Set(best.map(({ row }) => row)), [best]);
  const isBetter = metric.goal && { "improves on all before": (row: number) => bestAt.has(row) };
  return (
    <Scatter
      points={points}
      name={by === "number" ? "history" : "history-by-time"}
      title={`History of ${titleOf(metric)}`}
      x={x}
      y={y}
      xs={xs}
      inside={inside}
      marked={marked}
      line={line}
      label={label}
      legend={useMemo(() => legendOf(metric, counts, beyond), [metric, counts, beyond])}
      columns={isBetter}
      {...rest}
    />
  );
});

function legendOf(metric: Axis, counts: UnfinishedCounts, beyond: number): LegendItem[] {
  const items: LegendItem[] = [{ sign: "dot", token: "--accent", label: "trial" }];
  if (metric.goal) items.push({ sign: "line", token: "--gold", label: "best so far" });
  items.push(...unfinishedItems(counts));
  const outliers = `${formatCount(beyond)} ${beyond === 1 ? "outlier" : "outliers"} drawn at the edge`;
  return beyond > 0 ? [...items, { sign: "note", label: outliers }] : items;
}

function across(points: Points, by: "number" | "time"): { xs: readonly Scalar[]; name: string } {
  if (by === "number") return { xs: columnOf(points, "number"), name: "trial" };
  const [ends, durations] = [columnOf(points, "ended_at"), columnOf(points, "duration_s")];
  const starts = ends.flatMap((end, row) => (typeof end === "number" ? [end - Number(durations[row] ?? 0)] : []));
  const first = starts.reduce((least, start) => Math.min(least, start), Number.POSITIVE_INFINITY);
  return { xs: ends.map(end => (typeof end === "number" ? end - first : null)), name: "time since the first start" };
}

type Best = { row: number; x: number; value: number };

/** The trials that improved on all previous ones. */
export function bestSoFar(points: Points, metric: Axis, xs: readonly Scalar[], inside: Uint8Array): Best[] {
  if (metric.goal === undefined) return []; // neither low nor high values are known to be better
  const values = columnOf(points, metric.key);
  const [states, feasible] = [columnOf(points, "state"), columnOf(points, "feasible")];
  const rows: number[] = [];
  for (let row = 0; row < values.length; row += 1)
    if (inside[row] && states[row] === "finished" && feasible[row] === true)
      if (typeof values[row] === "number" && typeof xs[row] === "number") rows.push(row);
  const at = (row: number) => xs[row] as number;
  const isSorted = rows.every((row, place) => place === 0 || at(rows[place - 1] as number) <= at(row));
  if (!isSorted) rows.sort((a, b) => at(a) - at(b) || a - b);
  const found: Best[] = [];
  for (const row of rows) {
    const [before, value] = [found.at(-1)?.value, values[row] as number];
    if (before === undefined || (metric.goal === "maximize" ? value > before : value < before))
      found.push({ row, x: at(row), value });
  }
  return found;
}

function steps(best: readonly Best[], x: Axis, y: Axis): Point[] {
  const line: Point[] = [];
  for (const { x: at, value } of best) {
    const place = { x: placeOn(x, at) ?? 0, y: placeOn(y, value) ?? 0 };
    const before = line.at(-1);
    if (before) line.push({ x: place.x, y: before.y });
    line.push(place);
  }
  const last = line.at(-1);
  if (last) line.push({ x: 1, y: last.y });
  return line;
}
