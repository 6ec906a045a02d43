// The frame of a chart on a canvas: the plot area, its grid, and the axis labels.
import type { Size } from "../auto-redraw-canvas";
import { shortened } from "../format";
import { token } from "../theme";
import { type Axis, type Tick, ticksOf, titleOf } from "./axis";

export type Frame = { left: number; top: number; width: number; height: number };
export type Point = { x: number; y: number };
/** The text of a tick or a title and its place; `full` if it is cut. `x` and `y` are the upper left corner. */
export type Label = Frame & { text: string; full: string; of: "x" | "y" | "x title" | "y title" };

const FONT = 11;
const CHAR = 6.2; // approximate width of a digit in that font
const MAX_LABEL = 16; // characters
const LEAST_LABEL = 5; // characters of a cut choice
const [TOP, RIGHT, BOTTOM] = [10, 14, 38];
const [Y_TITLE, Y_GAP] = [23, 7]; // px for the turned title and between labels and plot
const MOST_TICKS = 14; // on a wide screen
const [X_APART, Y_APART] = [62, 48]; // px between ticks, at least

/** Space for the tick labels next to the plot and the axis titles. */
export function frameIn(size: Size, y: Axis): Frame {
  const longest = Math.max(...yTicks(y, size.height).map(tick => widthOf(shortened(tick.label, MAX_LABEL))), 2 * CHAR);
  const left = Math.min(size.width / 3, longest + Y_TITLE + Y_GAP);
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

function yTicks(y: Axis, height: number): Tick[] {
  const most = y.kind === "choice" ? Math.floor(height / 18) : Math.floor(height / Y_APART);
  return ticksOf(y, Math.max(2, most)).filter(isOn);
}

/** Ticks whose labels do not overlap: fewer of them if the labels are long. */
function xTicks(frame: Frame, x: Axis): Tick[] {
  const isChoice = x.kind === "choice";
  const apart = isChoice ? (LEAST_LABEL + 2) * CHAR : X_APART;
  for (let count = Math.max(2, Math.min(MOST_TICKS, Math.floor(frame.width / apart))); count > 1; count -= 1) {
    const found = ticksOf(x, count).filter(isOn);
    if (isChoice || !overlap(found.map(tick => xLabel(frame, tick, MAX_LABEL)))) return found;
  }
  return withoutOverlap(frame, ticksOf(x, 2).filter(isOn));
}

function overlap(labels: readonly Label[]): boolean {
  return labels.some((label, index) => index > 0 && label.left < endOf(labels[index - 1] as Label) + CHAR);
}

function withoutOverlap(frame: Frame, found: readonly Tick[]): Tick[] {
  const kept: Tick[] = [];
  for (const tick of found) {
    const before = kept.at(-1);
    if (!before || !overlap([before, tick].map(each => xLabel(frame, each, MAX_LABEL)))) kept.push(tick);
  }
  return kept;
}

function endOf({ left, width }: Frame): number {
  return left + width;
}

/** All labels of a frame; none overlaps another one of its axis. */
export function labelsIn(frame: Frame, x: Axis, y: Axis): Label[] {
  const across = xTicks(frame, x);
  const most = x.kind === "choice" ? Math.floor(frame.width / across.length / CHAR) - 1 : MAX_LABEL;
  const room = frame.left - Y_TITLE - Y_GAP;
  return [
    ...yTicks(y, frame.height + TOP + BOTTOM).map(tick => yLabel(frame, tick, room)),
    ...across.map(tick => xLabel(frame, tick, Math.max(2, most))),
    ...titles(frame, x, y),
  ];
}

function yLabel(frame: Frame, tick: Tick, room: number): Label {
  const text = fitted(shortened(tick.label, MAX_LABEL), room);
  const width = widthOf(text);
  const place = { left: frame.left - Y_GAP - width, top: yAt(frame, tick.at) - FONT / 2, width, height: FONT };
  return { ...place, text, full: tick.label, of: "y" };
}

function xLabel(frame: Frame, tick: Tick, most: number): Label {
  const text = shortened(tick.label, most);
  const width = widthOf(text);
  const end = endOf(frame) + RIGHT - width; // the last label is not cut
  const left = Math.max(0, Math.min(xAt(frame, tick.at) - width / 2, end));
  const place = { left, top: frame.top + frame.height + 6, width, height: FONT };
  return { ...place, text, full: tick.label, of: "x" };
}

function titles(frame: Frame, x: Axis, y: Axis): Label[] {
  const across = cutTitle(x, frame.width);
  const up = cutTitle(y, frame.height);
  const middle = { x: frame.left + frame.width / 2, y: frame.top + frame.height / 2 };
  return [
    { ...across, left: middle.x - across.width / 2, top: frame.top + frame.height + 23, height: FONT, of: "x title" },
    { ...up, left: 3, top: middle.y - up.width / 2, height: up.width, width: FONT, of: "y title" },
  ];
}

function cutTitle(axis: Axis, length: number): { text: string; full: string; width: number } {
  const full = axis.log ? [titleOf(axis), "log scale"].filter(Boolean).join(", ") : titleOf(axis);
  const text = shortened(full, Math.max(4, Math.floor(length / CHAR)));
  return { text, full, width: widthOf(text) };
}

/** An estimate: labels are placed before anything is drawn, also in files. */
function widthOf(text: string): number {
  let width = 0;
  for (const letter of text)
    width += /[mwMW%@]/.test(letter) ? 1.6 * CHAR : /[il.,:;'|! ]/.test(letter) ? CHAR / 2 : CHAR;
  return width;
}

/** Cut in the middle to a width. */
function fitted(text: string, width: number): string {
  let shown = text;
  for (let most = text.length - 1; most > 2 && widthOf(shown) > width + 0.01; most -= 1) shown = shortened(text, most);
  return shown;
}

export function drawFrame(context: CanvasRenderingContext2D, frame: Frame, x: Axis, y: Axis): void {
  context.lineWidth = 1;
  context.strokeStyle = token("--line");
  for (const tick of yTicks(y, frame.height + TOP + BOTTOM)) {
    const at = Math.round(yAt(frame, tick.at)) + 0.5;
    line(context, frame.left, at, frame.left + frame.width, at);
  }
  for (const tick of xTicks(frame, x)) {
    const at = Math.round(xAt(frame, tick.at)) + 0.5;
    line(context, at, frame.top, at, frame.top + frame.height);
  }
  context.font = `${FONT}px ${token("--font")}`;
  for (const label of labelsIn(frame, x, y)) drawLabel(context, frame, label);
}

function drawLabel(context: CanvasRenderingContext2D, frame: Frame, { text, of, ...box }: Label): void {
  const middle = { x: box.left + box.width / 2, y: box.top + box.height / 2 };
  context.fillStyle = token(of === "x" || of === "y" ? "--text-3" : "--text-2");
  context.textBaseline = "middle";
  context.textAlign = of === "y" ? "right" : "center"; // the width is an estimate
  if (of === "y title") drawTurned(context, text, middle);
  else if (of === "y") context.fillText(text, frame.left - Y_GAP, middle.y);
  else context.fillText(text, Math.min(middle.x, endOf(frame) + RIGHT - context.measureText(text).width / 2), middle.y);
}

function drawTurned(context: CanvasRenderingContext2D, text: string, middle: Point): void {
  context.save();
  context.translate(middle.x + 2, middle.y);
  context.rotate(-Math.PI / 2);
  context.fillText(text, 0, 0);
  context.restore();
}

function isOn(tick: Tick): boolean {
  return tick.at > -0.001 && tick.at < 1.001;
}

function line(context: CanvasRenderingContext2D, x0: number, y0: number, x1: number, y1: number): void {
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
