// The axes of parallel coordinates on a canvas, for exported pictures: on the page they are elements with handles.
import type { Size } from "../auto-redraw-canvas";
import { formatValue, shortened } from "../format";
import { token } from "../theme";
import { type Axis, placeOn, ticksOf, titleOf } from "./axis";
import type { Brush, Brushes } from "./brush-filter-terms";
import { axisX, BOTTOM, placeY, TOP } from "./draw-parallel-lines";

const CHAR = 6.2; // px; width of a letter
const BRUSH = 10; // px; width of a brush

export function drawAxes(context: CanvasRenderingContext2D, size: Size, axes: readonly Axis[], brushes: Brushes): void {
  const gap = axes.length > 1 ? axisX(1, axes.length, size.width) - axisX(0, axes.length, size.width) : size.width;
  axes.forEach((axis, index) => {
    const x = axisX(index, axes.length, size.width);
    context.strokeStyle = token("--line-strong");
    context.lineWidth = 1;
    context.beginPath();
    context.moveTo(x, TOP);
    context.lineTo(x, size.height - BOTTOM);
    context.stroke();
    context.font = `600 12px ${token("--font")}`;
    context.fillStyle = token("--text");
    context.textAlign = "center";
    context.textBaseline = "alphabetic";
    context.fillText(shortened(titleOf(axis), Math.max(6, Math.floor(gap / CHAR) - 1)), x, TOP - 16);
    const brush = brushes[axis.key];
    if (brush) drawBrush(context, size, axis, x, brush);
    drawTicks(context, size, axis, x, gap);
  });
}

function drawBrush(context: CanvasRenderingContext2D, { height }: Size, axis: Axis, x: number, brush: Brush): void {
  if (!("low" in brush)) return;
  const [low, high] = [placeOn(axis, brush.low) ?? 0, placeOn(axis, brush.high) ?? 1];
  context.globalAlpha = 0.25;
  context.fillStyle = token("--accent");
  context.fillRect(x - BRUSH / 2, placeY(high, height), BRUSH, placeY(low, height) - placeY(high, height));
  context.globalAlpha = 1;
}

function drawTicks(context: CanvasRenderingContext2D, { height }: Size, axis: Axis, x: number, gap: number): void {
  const count = axis.kind === "choice" ? axis.choices.length : Math.floor((height - TOP - BOTTOM) / 60);
  context.font = `11px ${token("--font")}`;
  context.textAlign = "left";
  context.textBaseline = "middle";
  for (const { at, label } of ticksOf(axis, Math.max(1, count))) {
    const text = shortened(formatValue(label), Math.max(4, Math.floor((gap - 14) / CHAR)));
    const y = placeY(at, height);
    context.globalAlpha = 0.8; // readable on the lines
    context.fillStyle = token("--surface");
    context.fillRect(x + 4, y - 7, text.length * CHAR + 6, 14);
    context.globalAlpha = 1;
    context.fillStyle = token("--text-2");
    context.fillText(text, x + 7, y);
  }
}
