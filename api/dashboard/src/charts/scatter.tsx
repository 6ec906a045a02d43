// Trials as points between two axes: history, slice and Pareto front are made of it.
import { useCallback, useMemo } from "react";
import { token } from "../theme";
import { type Axis, placesOn, type Scalar } from "./axis";
import { POINTED_AT, SHADES, shadeOf, shades } from "./colour";
import { clipped, type Frame, type Point, xAt, yAt } from "./frame";
import { Plot } from "./plot";
import { columnOf, type Points } from "./points";
import { TrialTip } from "./tip";

export type ScatterProps = {
  points: Points;
  x: Axis;
  y: Axis;
  xs?: readonly Scalar[]; // where it is no column of the points
  inside: Uint8Array; // which rows are drawn
  shares?: Float64Array; // how good each is, 0 to 1; without it all have one colour
  marked?: readonly number[]; // rows with a gold ring: the best
  line?: readonly Point[]; // places of a line of steps through the plot
  label: string;
  height?: number;
  active: number | null;
  selected: ReadonlySet<number>; // ids
  onActive: (row: number | null) => void;
  onOpen?: (row: number) => void;
};

const NEAR = 18; // px
const MANY = 4_000; // points: then they are small squares, which are quicker to draw
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
  const places = useMemo(() => placed(points, x, y, xColumn, inside), [points, x, y, xColumn, inside]);
  const order = useMemo(() => [...places.rows].sort((a, b) => at(places.xs, a) - at(places.xs, b)), [places]);
  const chosen = useMemo(() => rowsOf(points, selected), [points, selected]);

  const pointOf = useCallback(
    (row: number, frame: Frame): Point => ({
      x: xAt(frame, edge(at(places.xs, row))),
      y: yAt(frame, edge(at(places.ys, row))),
    }),
    [places],
  );
  const draw = useCallback(
    (context: CanvasRenderingContext2D, frame: Frame) =>
      clipped(context, frame, () => {
        drawPoints(context, places.rows, shares, row => pointOf(row, frame), columnOf(points, "feasible"));
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
      ring(context, pointOf(active, frame), 7, POINTED_AT);
    },
    [active, inside, pointOf],
  );
  const nearest = useCallback(
    (from: Point, frame: Frame) => closest(places.rows, from, row => pointOf(row, frame), NEAR),
    [places, pointOf],
  );
  const axes = [y, x];
  return (
    <Plot
      x={x}
      y={y}
      label={label}
      height={height}
      draw={draw}
      drawOver={drawOver}
      nearest={nearest}
      order={order}
      pointOf={pointOf}
      tell={row => <TrialTip points={points} row={row} axes={axes.filter(axis => axis.key in points.columns)} />}
      active={active !== null && inside[active] ? active : null}
      onActive={onActive}
      onOpen={onOpen}
    />
  );
}

type Places = { xs: Float64Array; ys: Float64Array; rows: number[] };

function placed(points: Points, x: Axis, y: Axis, xColumn: readonly Scalar[], inside: Uint8Array): Places {
  const [xs, ys] = [placesOn(x, xColumn), placesOn(y, columnOf(points, y.key))];
  if (x.kind === "choice") spreadOut(xs, x.choices.length);
  const rows: number[] = [];
  for (let row = 0; row < xs.length; row += 1)
    if (inside[row] && !Number.isNaN(at(xs, row)) && !Number.isNaN(at(ys, row))) rows.push(row);
  return { xs, ys, rows };
}

/** Side by side what would stand on one line: always the same way, so that nothing jumps. */
function spreadOut(xs: Float64Array, choices: number): void {
  for (let row = 0; row < xs.length; row += 1) {
    const share = ((row * 0.618034) % 1) - 0.5;
    xs[row] = at(xs, row) + (share * 0.5) / choices;
  }
}

function at(values: Float64Array, index: number): number {
  return values[index] as number;
}

function edge(place: number): number {
  return Math.max(0, Math.min(1, place));
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

/** Points of one shade in one stroke: that is what makes thousands of them quick. */
export function drawPoints(
  context: CanvasRenderingContext2D,
  rows: readonly number[],
  shares: Float64Array | undefined,
  pointOf: (row: number) => Point,
  feasible: readonly Scalar[],
): void {
  const groups: number[][] = Array.from({ length: SHADES + 1 }, () => []);
  for (const row of rows) {
    const share = shares?.[row] ?? Number.NaN;
    const group = feasible[row] === false ? SHADES : Number.isNaN(share) ? SHADES - 1 : shadeOf(share);
    (groups[group] as number[]).push(row);
  }
  const colours = shares ? shades() : Array.from({ length: SHADES }, () => token("--accent"));
  const radius = rows.length > MANY ? 1.5 : rows.length > 500 ? 2.5 : 3.5;
  context.globalAlpha = rows.length > MANY ? 0.55 : 0.85;
  groups.forEach((alike, group) => {
    context.beginPath();
    for (const row of alike) {
      const { x, y } = pointOf(row);
      if (rows.length > MANY) context.rect(x - radius, y - radius, 2 * radius, 2 * radius);
      else {
        context.moveTo(x + radius, y);
        context.arc(x, y, radius, 0, 2 * Math.PI);
      }
    }
    if (group === SHADES) {
      context.strokeStyle = token("--text-3");
      context.lineWidth = 1;
      context.stroke();
    } else {
      context.fillStyle = colours[group] as string;
      context.fill();
    }
  });
  context.globalAlpha = 1;
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
    const [x, y] = [xAt(frame, point.x), yAt(frame, edge(point.y))];
    if (index === 0) context.moveTo(x, y);
    else context.lineTo(x, y);
  });
  context.stroke();
}
