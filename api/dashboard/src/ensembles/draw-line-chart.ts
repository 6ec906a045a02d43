// Draws a small line chart of a few series: on the page and in exported pictures.
import type { Size } from "../auto-redraw-canvas";
import { type Axis, numberAxis, placeOn, withRoom } from "../charts/axis";
import { clipped, drawFrame, type Frame, frameIn, xAt, yAt } from "../charts/plot-area-and-grid";
import { token } from "../theme";

export type Series = {
  name: string;
  tone: number; // of the --series tokens
  points: readonly (readonly [number, number])[];
  dashed?: boolean;
  dots?: boolean;
};
export type LineChart = {
  series: readonly Series[];
  x: Axis;
  y: Axis;
  diagonal?: boolean; // the diagonal y = x, for comparison
  until?: { x: number; name: string }; // a vertical line, for example where the selection stopped
};
export type Range = readonly [number, number];

export function axesOf(
  series: readonly Series[],
  names: { x: string; y: string },
  { integer, xRange, yRange }: { integer?: boolean; xRange?: Range; yRange?: Range },
): { x: Axis; y: Axis } {
  const points = series.flatMap(one => one.points);
  const xs = xRange ?? points.map(([x]) => x);
  const ys = yRange ?? points.map(([, y]) => y);
  return {
    x: withRoom(numberAxis("x", names.x, xs, { integer }), 0.03),
    y: withRoom(numberAxis("y", names.y, ys), 0.06),
  };
}

/** `at`: the x value whose points are highlighted. */
export function drawLineChart(
  context: CanvasRenderingContext2D,
  size: Size,
  chart: LineChart,
  at: number | null = null,
): void {
  const frame = frameIn(size, chart.y);
  drawFrame(context, frame, chart.x, chart.y);
  clipped(context, frame, () => {
    if (chart.diagonal) drawDiagonal(context, frame, chart);
    if (chart.until) drawUntil(context, frame, chart.x, chart.until);
    for (const one of chart.series) drawSeries(context, frame, chart, one, at);
  });
}

function drawDiagonal(context: CanvasRenderingContext2D, frame: Frame, { x, y }: LineChart): void {
  const [low, high] = [Math.max(x.low, y.low), Math.min(x.high, y.high)];
  context.strokeStyle = token("--line-strong");
  context.lineWidth = 1;
  context.setLineDash([3, 4]);
  stroke(
    context,
    [low, high].map(value => pointAt(frame, x, y, value, value)),
  );
  context.setLineDash([]);
}

function drawUntil(context: CanvasRenderingContext2D, frame: Frame, x: Axis, until: { x: number; name: string }): void {
  const place = placeOn(x, until.x) ?? 0;
  const at = xAt(frame, place);
  context.strokeStyle = token("--line-strong");
  context.lineWidth = 1;
  context.setLineDash([4, 3]);
  stroke(
    context,
    [frame.top, frame.top + frame.height].map(y => ({ x: at, y })),
  );
  context.setLineDash([]);
  context.fillStyle = token("--text-2");
  context.textBaseline = "top";
  context.textAlign = place > 0.5 ? "right" : "left"; // the side with space
  context.fillText(until.name, at + (place > 0.5 ? -5 : 5), frame.top + 2);
}

function drawSeries(
  context: CanvasRenderingContext2D,
  frame: Frame,
  { x, y }: LineChart,
  { tone, points, dashed, dots }: Series,
  at: number | null,
): void {
  context.strokeStyle = context.fillStyle = token(`--series-${tone}`);
  context.lineWidth = 2;
  context.setLineDash(dashed ? [6, 4] : []);
  const placed = points.map(([across, up]) => pointAt(frame, x, y, across, up));
  stroke(context, placed);
  context.setLineDash([]);
  placed.forEach((point, index) => {
    const isHere = points[index]?.[0] === at;
    if (isHere || dots || placed.length === 1) dot(context, point, isHere ? 5 : 3);
  });
}

type Point = { x: number; y: number };

function pointAt(frame: Frame, x: Axis, y: Axis, across: number, up: number): Point {
  return { x: xAt(frame, placeOn(x, across) ?? 0), y: yAt(frame, placeOn(y, up) ?? 0) };
}

function stroke(context: CanvasRenderingContext2D, points: readonly Point[]): void {
  context.beginPath();
  for (const { x, y } of points) context.lineTo(x, y);
  context.stroke();
}

function dot(context: CanvasRenderingContext2D, { x, y }: Point, radius: number): void {
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.fill();
}
