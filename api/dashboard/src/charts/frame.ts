// The frame of a chart on a canvas: the plot area, its grid, and the axis labels.
import type { Size } from "../canvas";
import { shortened } from "../format";
import { token } from "../theme";
import { type Axis, type Tick, ticksOf } from "./axis";

export type Frame = { left: number; top: number; width: number; height: number };
export type Point = { x: number; y: number };

const FONT = 11;
const CHAR = 6.2; // approximate width of a digit in that font
const MAX_LABEL = 16; // characters
const [TOP, RIGHT, BOTTOM] = [10, 14, 38];

/** Space for the tick labels next to the plot and the axis titles. */
export function frameIn(size: Size, y: Axis): Frame {
  const longest = Math.max(...ticksOf(y, yCount(size.height)).map(tick => short(tick.label).length), 2);
  const left = Math.min(size.width / 3, longest * CHAR + 30);
  return {
    left,
    top: TOP,
    width: Math.max(10, size.width - left - RIGHT),
    height: Math.max(10, size.height - TOP - BOTTOM),
  };
}

export function xAt(frame: Frame, place: number): number {
  return frame.left + place * frame.width;
}

export function yAt(frame: Frame, place: number): number {
  return frame.top + (1 - place) * frame.height;
}

function yCount(height: number): number {
  return Math.max(2, Math.floor(height / 48));
}

export function drawFrame(context: CanvasRenderingContext2D, frame: Frame, x: Axis, y: Axis): void {
  const height = frame.height + TOP + BOTTOM;
  context.font = `${FONT}px ${token("--font")}`;
  context.lineWidth = 1;
  for (const tick of ticksOf(y, yCount(height))) if (isOn(tick)) drawY(context, frame, tick);
  const across = ticksOf(x, Math.max(2, Math.floor(frame.width / 62)));
  let free = Number.NEGATIVE_INFINITY;
  for (const tick of across) {
    if (!isOn(tick)) continue;
    const half = (short(tick.label).length * CHAR) / 2;
    const at = xAt(frame, tick.at);
    drawX(context, frame, tick, at - half > free);
    if (at - half > free) free = at + half + 6;
  }
  context.fillStyle = token("--text-2");
  context.textAlign = "center";
  context.textBaseline = "alphabetic";
  context.fillText(title(x), frame.left + frame.width / 2, frame.top + frame.height + 33, frame.width);
  context.save();
  context.translate(11, frame.top + frame.height / 2);
  context.rotate(-Math.PI / 2);
  context.fillText(title(y), 0, 0, frame.height);
  context.restore();
}

function title(axis: Axis): string {
  const unit = axis.key === "running_s" ? "running time (s)" : axis.name;
  return axis.log ? [unit, "log scale"].filter(Boolean).join(", ") : unit;
}

function isOn(tick: Tick): boolean {
  return tick.at > -0.001 && tick.at < 1.001;
}

function short(label: string): string {
  return shortened(label, MAX_LABEL);
}

function drawY(context: CanvasRenderingContext2D, frame: Frame, tick: Tick): void {
  const at = Math.round(yAt(frame, tick.at)) + 0.5;
  line(context, frame.left, at, frame.left + frame.width, at);
  context.fillStyle = token("--text-3");
  context.textAlign = "right";
  context.textBaseline = "middle";
  context.fillText(short(tick.label), frame.left - 7, at);
}

function drawX(context: CanvasRenderingContext2D, frame: Frame, tick: Tick, written: boolean): void {
  const at = Math.round(xAt(frame, tick.at)) + 0.5;
  line(context, at, frame.top, at, frame.top + frame.height);
  if (!written) return;
  context.fillStyle = token("--text-3");
  context.textAlign = "center";
  context.textBaseline = "top";
  const end = frame.left + frame.width + RIGHT - (short(tick.label).length * CHAR) / 2; // the last label is not cut
  context.fillText(short(tick.label), Math.min(at, end), frame.top + frame.height + 6);
}

function line(context: CanvasRenderingContext2D, x0: number, y0: number, x1: number, y1: number): void {
  context.strokeStyle = token("--line");
  context.beginPath();
  context.moveTo(x0, y0);
  context.lineTo(x1, y1);
  context.stroke();
}

/** Draws clipped to the plot plus a small margin, so that marks on its edge are complete. */
export function clipped(context: CanvasRenderingContext2D, frame: Frame, draw: () => void, beyond = 5): void {
  context.save();
  context.beginPath();
  context.rect(frame.left - beyond, frame.top - beyond, frame.width + 2 * beyond, frame.height + 2 * beyond);
  context.clip();
  draw();
  context.restore();
}
