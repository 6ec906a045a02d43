// Two objectives against each other: the trials that no other one beats in both, and the rest.
import { useMemo } from "react";
import { formatCount } from "../format";
import { type Axis, numberAxis, placeOn, robustAxis, withRoom } from "./axis";
import type { Point } from "./frame";
import { columnOf, numbersOf, type Points } from "./points";
import { Scatter, type ScatterProps } from "./scatter";

type ParetoProps = Pick<ScatterProps, "inside" | "active" | "selected" | "onActive" | "onOpen"> & {
  points: Points;
  x: Axis;
  y: Axis;
  log: boolean;
};

export function Pareto({ points, x: xMetric, y: yMetric, log, inside, ...rest }: ParetoProps) {
  const x = useMemo(() => ended(points, xMetric, log, inside), [points, xMetric, log, inside]);
  const y = useMemo(() => ended(points, yMetric, log, inside), [points, yMetric, log, inside]);
  const front = useMemo(() => frontOf(points, xMetric, yMetric, inside), [points, xMetric, yMetric, inside]);
  const line = useMemo(() => stairs(points, front, x, y), [points, front, x, y]);
  const label = `${yMetric.name} against ${xMetric.name}: ${formatCount(front.length)} of ${formatCount(points.shown)} trials are beaten by none in both.`;
  return (
    <>
      <Scatter points={points} x={x} y={y} inside={inside} marked={front} line={line} label={label} {...rest} />
      <ul className="plot-legend">
        <li>
          <span className="plot-sign plot-sign-line history-best" /> Pareto front: {formatCount(front.length)} trials
          that no other beats in both
        </li>
        <li>
          better: {xMetric.name} {xMetric.goal === "maximize" ? "→" : "←"}, {yMetric.name}{" "}
          {yMetric.goal === "maximize" ? "↑" : "↓"}
        </li>
      </ul>
    </>
  );
}

function ended(points: Points, metric: Axis, log: boolean, inside: Uint8Array): Axis {
  const values = numbersOf(points, metric.key, inside);
  const isLog = log && values.every(value => value > 0);
  return withRoom(robustAxis(numberAxis(metric.key, metric.name, values, { log: isLog, goal: metric.goal }), values));
}

/** The rows that are dominated by none in these two, in the order of the first. */
export function frontOf(points: Points, x: Axis, y: Axis, inside: Uint8Array): number[] {
  const [xs, ys] = [columnOf(points, x.key), columnOf(points, y.key)];
  const [states, feasible] = [columnOf(points, "state"), columnOf(points, "feasible")];
  const [xSign, ySign] = [x, y].map(axis => (axis.goal === "maximize" ? -1 : 1)) as [number, number];
  const cost = (row: number): [number, number] => [xSign * (xs[row] as number), ySign * (ys[row] as number)];
  const rows = xs.flatMap((value, row) => {
    const counts = inside[row] && states[row] === "finished" && feasible[row] === true;
    return counts && typeof value === "number" && typeof ys[row] === "number" ? [row] : [];
  });
  rows.sort((a, b) => cost(a)[0] - cost(b)[0] || cost(a)[1] - cost(b)[1]);
  const front: number[] = [];
  for (const row of rows) {
    const last = front.at(-1);
    const isEqual = last !== undefined && cost(last)[0] === cost(row)[0] && cost(last)[1] === cost(row)[1];
    if (last === undefined || cost(row)[1] < cost(last)[1] || isEqual) front.push(row);
  }
  return front;
}

/** From one to the next by a corner: what lies beyond the corner is beaten by none of them. */
function stairs(points: Points, front: readonly number[], x: Axis, y: Axis): Point[] {
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
