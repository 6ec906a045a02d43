// Two objectives: the trials on the Pareto front, and the others.
import { memo, useMemo } from "react";
import { formatCount } from "../format";
import { type Axis, placeOn, titleOf } from "./axis";
import { countIn } from "./brush-filter-terms";
import type { LegendItem } from "./legend";
import type { Point } from "./plot-area-and-grid";
import type { LogChoice } from "./result-axis-scale";
import { Scatter, type ScatterProps } from "./scatter";
import { columnOf, type Points } from "./trial-columns";
import { useValueAxis } from "./use-result-axis";

type ParetoProps = Pick<ScatterProps, "inside" | "active" | "selected" | "onActive" | "onOpen"> & {
  points: Points;
  x: Axis;
  y: Axis;
  log: LogChoice;
};

export const Pareto = memo(function Pareto({ points, x: xMetric, y: yMetric, log, inside, ...rest }: ParetoProps) {
  const x = useValueAxis(points, xMetric, log, inside);
  const y = useValueAxis(points, yMetric, log, inside);
  const front = useMemo(() => frontOf(points, xMetric, yMetric, inside), [points, xMetric, yMetric, inside]);
  const line = useMemo(() => staircase(points, front, x, y), [points, front, x, y]);
  const label = `${yMetric.name} against ${xMetric.name}: ${formatCount(front.length)} of ${formatCount(countIn(inside))} trials are not dominated.`;
  const onFront = new Set(front);
  return (
    <Scatter
      points={points}
      name="pareto-front"
      title={`Pareto front of ${titleOf(xMetric)} and ${titleOf(yMetric)}`}
      x={x}
      y={y}
      inside={inside}
      marked={front}
      line={line}
      label={label}
      legend={legendOf(front.length, xMetric, yMetric)}
      columns={{ "on the front": row => onFront.has(row) }}
      {...rest}
    />
  );
});

function legendOf(count: number, x: Axis, y: Axis): LegendItem[] {
  const across = `${titleOf(x)} ${x.goal === "maximize" ? "→" : "←"}`;
  const up = `${titleOf(y)} ${y.goal === "maximize" ? "↑" : "↓"}`;
  const front = `Pareto front: ${formatCount(count)} trials that no other trial dominates`;
  return [
    { sign: "line", token: "--gold", label: front },
    { sign: "note", label: `better: ${across}, ${up}` },
  ];
}

/** The rows that no other row dominates in these two columns, ordered by the first. */
export function frontOf(points: Points, x: Axis, y: Axis, inside: Uint8Array): number[] {
  const [states, feasible] = [columnOf(points, "state"), columnOf(points, "feasible")];
  const [xCost, yCost] = [x, y].map(({ key, goal }) => {
    const sign = goal === "maximize" ? -1 : 1;
    return Float64Array.from(columnOf(points, key), value => (typeof value === "number" ? sign * value : Number.NaN));
  }) as [Float64Array, Float64Array];
  const cost = (costs: Float64Array, row: number) => costs[row] as number;
  const rows: number[] = [];
  for (let row = 0; row < xCost.length; row += 1)
    if (inside[row] && states[row] === "finished" && feasible[row] === true)
      if (!Number.isNaN(cost(xCost, row)) && !Number.isNaN(cost(yCost, row))) rows.push(row);
  rows.sort((a, b) => cost(xCost, a) - cost(xCost, b) || cost(yCost, a) - cost(yCost, b));
  const front: number[] = [];
  for (const row of rows) {
    const last = front.at(-1);
    const isEqual =
      last !== undefined && cost(xCost, last) === cost(xCost, row) && cost(yCost, last) === cost(yCost, row);
    if (last === undefined || cost(yCost, row) < cost(yCost, last) || isEqual) front.push(row);
  }
  return front;
}

/** A staircase between the points of the front: everything beyond a corner is not dominated. */
function staircase(points: Points, front: readonly number[], x: Axis, y: Axis): Point[] {
  const line: Point[] = [];
  for (const row of front) {
    const place = {
      x: placeOn(x, columnOf(points, x.key)[row]) ?? 0,
      y: placeOn(y, columnOf(points, y.key)[row]) ?? 0,
    };
    const before = line.at(-1);
    if (before) line.push({ x: place.x, y: before.y });
    line.push(place);
  }
  return line;
}
