// Trials as points on two axes: the base of history, slice and Pareto charts.
import { useCallback, useMemo } from "react";
import { token } from "../theme";
import { type Axis, columnNameOf, type Scalar } from "./axis";
import { HOVER_TOKEN } from "./colour";
import { drawPoints, placesOf, pointIn } from "./draw-points";
import { Plot, type PlotProps } from "./plot";
import { clipped, type Frame, type Point, xAt, yAt } from "./plot-area-and-grid";
import { columnOf, type Points } from "./trial-columns";
import { type MoreColumns, RANK, trialRows } from "./trial-export-rows";
import { TrialTip } from "./trial-tooltip";

export type ScatterProps = Pick<PlotProps, "name" | "title" | "legend"> & {
  points: Points;
  x: Axis;
  y: Axis;
  xs?: readonly Scalar[]; // if it is not a column of the points
  ys?: readonly Scalar[];
  inside: Uint8Array; // which rows are drawn
  shares?: Float64Array; // rank of each row, 0 to 1; without it all have one colour
  marked?: readonly number[]; // rows with a gold ring: the best
  line?: readonly Point[]; // points of a step line through the plot
  columns?: MoreColumns; // of an exported table, in addition to the axes
  described?: readonly Axis[]; // in the tooltip, in addition to the axes
  label: string;
  height?: number;
  active: number | null;
  selected: ReadonlySet<number>; // ids
  onActive: (row: number | null) => void;
  onOpen?: (row: number) => void;
};

const NEAR = 18; // px
const NONE: readonly number[] = [];

export function Scatter(props: ScatterProps) {
  const {
    points,
    x,
    y,
    inside,
    shares,
    marked = NONE,
    line,
    label,
    height,
    active,
    selected,
    onActive,
    onOpen,
  } = props;
  const xColumn = props.xs ?? columnOf(points, x.key);
  const xs = useMemo(() => across(x, xColumn), [x, xColumn]);
  const yColumn = props.ys ?? columnOf(points, y.key);
  const ys = useMemo(() => placesOf(y, yColumn), [y, yColumn]);
  const places = useMemo(() => ({ xs, ys, rows: rowsOn(xs, ys, inside) }), [xs, ys, inside]);
  const order = useCallback(() => [...places.rows].sort((a, b) => at(places.xs, a) - at(places.xs, b)), [places]);
  const chosen = useMemo(() => rowsOf(points, selected), [points, selected]);

  const pointOf = useCallback((row: number, frame: Frame): Point => pointIn(places, row, frame), [places]);
  const draw = useCallback(
    (context: CanvasRenderingContext2D, frame: Frame) =>
      clipped(context, frame, () => {
        drawPoints(context, frame, places, shares, columnOf(points, "feasible"), columnOf(points, "state"));
        if (line) drawLine(context, frame, line);
        context.lineWidth = 2;
        for (const row of [...marked, ...chosen])
          if (inside[row]) ring(context, pointOf(row, frame), 5, marked.includes(row) ? "--gold" : "--accent");
      }),
    [places, shares, pointOf, points, line, marked, chosen, inside],
  );
  const drawOver = useCallback(
    (context: CanvasRenderingContext2D, frame: Frame) => {
      if (active === null || !inside[active]) return;
      context.lineWidth = 2;
      ring(context, pointOf(active, frame), 7, HOVER_TOKEN);
    },
    [active, inside, pointOf],
  );
  const nearest = useCallback(
    (from: Point, frame: Frame) => closest(places.rows, from, row => pointOf(row, frame), NEAR),
    [places, pointOf],
  );
  const more = (props.described ?? []).filter(axis => axis.key !== x.key && axis.key !== y.key);
  const axes = [y, x, ...more];
  const rows = () => {
    const ranks = shares && { [RANK]: (row: number) => shares[row] };
    const drawn = {
      [columnNameOf(x)]: (row: number, exact: Points) => (props.xs ?? columnOf(exact, x.key))[row],
      [columnNameOf(y)]: (row: number, exact: Points) => (props.ys ?? columnOf(exact, y.key))[row],
    };
    return trialRows(points, places.rows, { ...drawn, ...ranks, ...props.columns });
  };
  return (
    <Plot
      x={x}
      y={y}
      name={props.name}
      title={props.title}
      label={label}
      legend={props.legend}
      rows={rows}
      height={height}
      draw={draw}
      drawOver={drawOver}
      nearest={nearest}
      order={order}
      pointOf={pointOf}
      describe={row => <TrialTip points={points} row={row} axes={axes.filter(axis => axis.key in points.columns)} />}
      active={active !== null && inside[active] ? active : null}
      onActive={onActive}
      onOpen={onOpen}
    />
  );
}

function rowsOn(xs: Float64Array, ys: Float64Array, inside: Uint8Array): number[] {
  const rows: number[] = [];
  for (let row = 0; row < xs.length; row += 1)
    if (inside[row] && !Number.isNaN(at(xs, row)) && !Number.isNaN(at(ys, row))) rows.push(row);
  return rows;
}

/** Horizontal jitter for points that would coincide; deterministic, so that points do not jump. */
function across(axis: Axis, column: readonly Scalar[]): Float64Array {
  const xs = placesOf(axis, column);
  if (axis.kind !== "choice") return xs;
  return xs.map((place, row) => place + ((((row * 0.618034) % 1) - 0.5) * 0.5) / axis.choices.length);
}

function at(values: Float64Array, index: number): number {
  return values[index] as number;
}

function rowsOf(points: Points, ids: ReadonlySet<number>): number[] {
  if (ids.size === 0) return [];
  return columnOf(points, "id").flatMap((id, row) => (ids.has(id as number) ? [row] : []));
}

export function closest(
  items: readonly number[],
  from: Point,
  pointOf: (item: number) => Point,
  within: number,
): number | null {
  let [found, least]: [number | null, number] = [null, within * within];
  for (const item of items) {
    const point = pointOf(item);
    const distance = (point.x - from.x) ** 2 + (point.y - from.y) ** 2;
    if (distance < least) [found, least] = [item, distance];
  }
  return found;
}

function ring(context: CanvasRenderingContext2D, { x, y }: Point, radius: number, colour: string): void {
  context.strokeStyle = token(colour);
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.stroke();
}

function drawLine(context: CanvasRenderingContext2D, frame: Frame, line: readonly Point[]): void {
  context.strokeStyle = token("--gold");
  context.lineWidth = 2;
  context.beginPath();
  line.forEach((point, index) => {
    const [x, y] = [xAt(frame, point.x), yAt(frame, Math.max(0, Math.min(1, point.y)))];
    if (index === 0) context.moveTo(x, y);
    else context.lineTo(x, y);
  });
  context.stroke();
}
