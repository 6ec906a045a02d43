// Empirical distribution of the result: which share of the finished trials is at least as good as a value.
import { memo, useMemo } from "react";
import { formatCount, formatNumber } from "../format";
import { type Axis, numberAxis, placeOn, type Scalar, titleOf, withRoom } from "./axis";
import type { Point } from "./plot-area-and-grid";
import type { LogChoice } from "./result-axis-scale";
import { Scatter, type ScatterProps } from "./scatter";
import { columnOf, type Points } from "./trial-columns";
import { useValueAxis } from "./use-result-axis";

type EdfProps = Pick<ScatterProps, "inside" | "active" | "selected" | "onActive" | "onOpen"> & {
  points: Points;
  metric: Axis;
  log: LogChoice;
};

const SHARE = withRoom(numberAxis("share", "share of finished trials (%)", [0, 100]), 0.03);

export const Edf = memo(function Edf({ points, metric, log, inside, ...rest }: EdfProps) {
  const x = useValueAxis(points, metric, log, inside);
  const { ys, sorted } = useMemo(() => sharesOf(points, metric.key, inside), [points, metric, inside]);
  const line = useMemo(() => steps(sorted, x), [sorted, x]);
  const middle = sorted[Math.floor((sorted.length - 1) / 2)];
  const label =
    middle === undefined
      ? `Distribution of ${metric.name}: no trial has finished.`
      : `Distribution of ${metric.name} over ${formatCount(sorted.length)} finished trials; half have at most ${formatNumber(middle)}.`;
  const title = `Distribution of ${titleOf(metric)}`;
  const drawn = { points, x, y: SHARE, ys, inside, line, label, title };
  return <Scatter name="distribution" {...drawn} {...rest} />;
});

/** The share of finished trials with at most the value of each row, in percent, and their values in ascending order. */
export function sharesOf(points: Points, key: string, inside: Uint8Array): { ys: Scalar[]; sorted: number[] } {
  const [values, states] = [columnOf(points, key), columnOf(points, "state")];
  const isCounted = (row: number) => inside[row] === 1 && states[row] === "finished" && typeof values[row] === "number";
  const sorted = values.flatMap((value, row) => (isCounted(row) ? [value as number] : [])).sort((a, b) => a - b);
  const atMost = new Map(sorted.map((value, place) => [value, (100 * (place + 1)) / sorted.length])); // ties: the last
  return { ys: values.map((value, row) => (isCounted(row) ? (atMost.get(value as number) ?? null) : null)), sorted };
}

function steps(sorted: readonly number[], x: Axis): Point[] {
  const line: Point[] = [];
  sorted.forEach((value, place) => {
    const across = placeOn(x, value) ?? 0;
    const [before, after] = [place, place + 1].map(count => placeOn(SHARE, (100 * count) / sorted.length) ?? 0);
    line.push({ x: across, y: before as number }, { x: across, y: after as number });
  });
  return line;
}
