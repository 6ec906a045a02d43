// Draws a layer of the grid on a canvas: bands, raw lines, lines, and marks at the edges.
import type { Axis } from "../charts/axis";
import { shadeOf, shades } from "../charts/colour";
import { clipped, drawFrame, type Frame } from "../charts/plot-area-and-grid";
import { token } from "../theme";
import type { Colour, Layer, Line, Mark } from "./chart-scene";

const MANY = 12; // lines; above it they are as thin as the screen allows, which is also ten times as fast
const RAW = 0.22; // opacity of what is smoothed
const AREA = 0.16; // of the area between minimum and maximum

type Scale = (value: number) => number; // NaN if the value is not on the axis

/** Maps values to pixels. */
export function scaleOf(axis: Axis, start: number, length: number): Scale {
  const span = axis.high - axis.low;
  if (span === 0) return () => start + length / 2;
  if (!axis.log) return value => start + ((value - axis.low) / span) * length;
  const factor = length / Math.log(axis.high / axis.low);
  return value => (value > 0 ? start + Math.log(value / axis.low) * factor : Number.NaN);
}

export function scalesOf(layer: Layer, frame: Frame): { x: Scale; y: Scale } {
  return {
    x: scaleOf(layer.x, frame.left, frame.width),
    y: scaleOf(layer.y, frame.top + frame.height, -frame.height),
  };
}

export function drawLayer(context: CanvasRenderingContext2D, frame: Frame, layer: Layer): void {
  drawFrame(context, frame, layer.x, layer.y);
  const { x, y } = scalesOf(layer, frame);
  const ramp = shades();
  const isMany = layer.lines.length > MANY;
  clipped(context, frame, () => {
    context.lineWidth = isMany ? 1 / (window.devicePixelRatio || 1) : 1.75;
    context.lineJoin = "round";
    for (const line of layer.lines) if (line.band) fillBand(context, line, x, y, ramp);
    for (let at = layer.lines.length - 1; at >= 0; at -= 1) {
      const line = layer.lines[at] as Line;
      context.strokeStyle = context.fillStyle = cssOf(line.colour, ramp);
      if (line.raw) {
        context.globalAlpha = RAW;
        stroke(context, line.x, line.raw, x, y);
      }
      context.globalAlpha = isMany ? 0.8 : 1;
      context.setLineDash(line.dashed ? [5, 4] : []);
      stroke(context, line.x, line.y, x, y);
    }
    context.setLineDash([]);
    context.globalAlpha = 1;
  });
  for (const mark of layer.marks) drawMark(context, frame, mark, x(mark.x), cssOf(mark.line.colour, ramp));
}

/** The line under the pointer, above the others, with a dot at a point. */
export function drawActive(
  context: CanvasRenderingContext2D,
  frame: Frame,
  layer: Layer,
  line: Line,
  at: number | null,
): void {
  const { x, y } = scalesOf(layer, frame);
  clipped(context, frame, () => {
    context.lineJoin = "round";
    context.strokeStyle = token("--surface");
    context.lineWidth = 6;
    stroke(context, line.x, line.y, x, y);
    context.strokeStyle = context.fillStyle = cssOf(line.colour, shades());
    context.lineWidth = 3;
    stroke(context, line.x, line.y, x, y);
    if (at !== null) dot(context, x(line.x[at] as number), y(line.y[at] as number), 4);
  });
}

/** The place under the pointer of any chart of the grid. */
export function drawCursor(context: CanvasRenderingContext2D, frame: Frame, layer: Layer, place: number): void {
  const at = scalesOf(layer, frame).x(place);
  if (!(at >= frame.left && at <= frame.left + frame.width)) return;
  context.strokeStyle = token("--line-strong");
  context.lineWidth = 1;
  context.setLineDash([3, 3]);
  context.beginPath();
  context.moveTo(at, frame.top);
  context.lineTo(at, frame.top + frame.height);
  context.stroke();
  context.setLineDash([]);
}

export function cssOf(colour: Colour, ramp: readonly string[] = shades()): string {
  return "token" in colour ? token(colour.token) : (ramp[shadeOf(colour.share)] as string);
}

function stroke(
  context: CanvasRenderingContext2D,
  xs: readonly number[],
  ys: readonly number[],
  x: Scale,
  y: Scale,
): void {
  context.beginPath();
  const alone: number[] = []; // points between gaps, of which a line shows nothing
  let length = 0; // of the piece so far
  for (let at = 0; at < xs.length; at += 1) {
    const [px, py] = [x(xs[at] as number), y(ys[at] as number)];
    if (!(Number.isFinite(px) && Number.isFinite(py))) {
      if (length === 1) alone.push(at - 1);
      length = 0;
      continue;
    }
    if (length > 0) context.lineTo(px, py);
    else context.moveTo(px, py);
    length += 1;
  }
  if (length === 1) alone.push(xs.length - 1);
  context.stroke();
  for (const at of alone) dot(context, x(xs[at] as number), y(ys[at] as number), 2.5);
}

function fillBand(context: CanvasRenderingContext2D, line: Line, x: Scale, y: Scale, ramp: readonly string[]): void {
  if (!line.band) return;
  const { low, high } = line.band;
  const bottom = y(Number.MIN_VALUE); // of a logarithmic axis: what is not on it reaches the edge
  const place = (value: number) => (Number.isFinite(y(value)) ? y(value) : bottom);
  context.fillStyle = cssOf(line.colour, ramp);
  context.globalAlpha = AREA;
  context.beginPath();
  for (let at = 0; at < line.x.length; at += 1) {
    const px = x(line.x[at] as number);
    if (Number.isFinite(px)) context.lineTo(px, place(high[at] as number));
  }
  for (let at = line.x.length - 1; at >= 0; at -= 1) {
    const px = x(line.x[at] as number);
    if (Number.isFinite(px)) context.lineTo(px, place(low[at] as number));
  }
  context.fill();
  context.globalAlpha = 1;
}

/** A cross at the bottom for NaN, a triangle at the top or bottom for infinities. */
function drawMark(context: CanvasRenderingContext2D, frame: Frame, { value }: Mark, at: number, colour: string): void {
  if (!(at >= frame.left && at <= frame.left + frame.width)) return;
  const bottom = frame.top + frame.height;
  context.strokeStyle = context.fillStyle = colour;
  context.lineWidth = 1.75;
  context.beginPath();
  if (value === "nan") {
    context.moveTo(at - 3.5, bottom - 3.5);
    context.lineTo(at + 3.5, bottom + 3.5);
    context.moveTo(at + 3.5, bottom - 3.5);
    context.lineTo(at - 3.5, bottom + 3.5);
    context.stroke();
    return;
  }
  const [edge, inside] = value === "inf" ? [frame.top, frame.top + 8] : [bottom, bottom - 8];
  context.moveTo(at, edge);
  context.lineTo(at - 5, inside);
  context.lineTo(at + 5, inside);
  context.fill();
}

function dot(context: CanvasRenderingContext2D, px: number, py: number, radius: number): void {
  if (!(Number.isFinite(px) && Number.isFinite(py))) return;
  context.beginPath();
  context.arc(px, py, radius, 0, 2 * Math.PI);
  context.fill();
}
