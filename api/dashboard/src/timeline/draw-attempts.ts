// Draws the timeline by trial: one row per trial, from its wait in the queue to the end of its last attempt.
import type { Size } from "../auto-redraw-canvas";
import { clockTicks } from "../charts/ticks";
import { token } from "../theme";
import { type Attempt, attemptsIn, endOf, leftQueue } from "./attempts";
import { barToken } from "./segment-styles";
import type { Span } from "./visible-span";

export type AttemptScene = {
  attempts: readonly Attempt[];
  rows: number;
  row: number; // its height in pixels; below 1, several rows share a pixel
  top: number; // pixels scrolled away
  span: Span;
  now: number;
  lit: number | null; // the id of the highlighted trial
  active: Attempt | null;
};

export const GUTTER = 52; // px for the numbers of trials
export const AXIS = 26; // px for the times
const [APART, LABEL] = [96, 15]; // px between times, and between numbers of trials
const MOST_TICKS = 16; // on a wide screen
const EDGE = 8; // px; rows at least this high have gaps between them
const ORDER = ["waiting", "finished", "pruned", "cancelled", "failed", "running"]; // the last ones on top

export function xOf(time: number, span: Span, width: number): number {
  return GUTTER + ((time - span.from) / (span.to - span.from)) * (width - GUTTER);
}

/** The rows that are at least partly in view. */
export function rowsIn({ rows, row, top }: Pick<AttemptScene, "rows" | "row" | "top">, height: number) {
  return { first: Math.max(0, Math.floor(top / row)), last: Math.min(rows, Math.ceil((top + height) / row)) };
}

export function drawAttempts(context: CanvasRenderingContext2D, size: Size, scene: AttemptScene): void {
  const height = size.height - AXIS;
  const { first, last } = rowsIn(scene, height);
  drawGrid(context, size, scene);
  context.save();
  context.beginPath();
  context.rect(0, 0, size.width, height);
  context.clip();
  drawNumbers(context, scene, first, last);
  const shown = attemptsIn(scene.attempts, first, last);
  if (scene.lit !== null) drawLitRow(context, size, scene, shown);
  for (const attempt of shown) drawQueue(context, size, scene, attempt);
  for (const state of ORDER)
    for (const attempt of shown) if (attempt.state === state) drawRun(context, size, scene, attempt);
  if (scene.active) drawOutline(context, size, scene, scene.active);
  context.restore();
}

type Band = { y: number; height: number };

/** Rows of less than a pixel are drawn a pixel high. */
function bandOf({ row, top }: AttemptScene, attempt: Attempt): Band {
  const gap = row >= EDGE ? Math.min(6, row * 0.25) : 0;
  return { y: attempt.row * row - top + gap / 2, height: Math.max(1, row - gap) };
}

function drawQueue(context: CanvasRenderingContext2D, { width }: Size, scene: AttemptScene, attempt: Attempt): void {
  const from = xOf(attempt.queued, scene.span, width);
  const wide = xOf(leftQueue(attempt, scene.now), scene.span, width) - from;
  if (wide < 0.5) return;
  const { y, height } = bandOf(scene, attempt);
  const thin = height >= 4 ? Math.max(2, height / 3) : height;
  context.globalAlpha = 0.45;
  context.fillStyle = token("--waiting");
  context.fillRect(from, y + (height - thin) / 2, wide, thin);
  context.globalAlpha = 1;
}

function drawRun(context: CanvasRenderingContext2D, { width }: Size, scene: AttemptScene, attempt: Attempt): void {
  if (attempt.start === null) return;
  const x = xOf(attempt.start, scene.span, width);
  const wide = Math.max(1, xOf(endOf(attempt, scene.now), scene.span, width) - x);
  const { y, height } = bandOf(scene, attempt);
  context.fillStyle = token(barToken(attempt.state));
  context.fillRect(x, y, wide, height);
  if (attempt.state === "running" && height >= 4) drawOpenEnd(context, x + wide, y, height);
  if (attempt.attempt > 1) drawRetry(context, x, y, height, attempt.attempt, wide);
}

/** The right end of a running attempt is dotted: it grows. */
function drawOpenEnd(context: CanvasRenderingContext2D, x: number, y: number, height: number): void {
  context.fillStyle = token("--surface");
  for (let down = 1; down < height; down += 4) context.fillRect(x - 2, y + down, 2, 2);
}

/** A repeated attempt has a line at its start and, if there is space, its number. */
function drawRetry(
  context: CanvasRenderingContext2D,
  x: number,
  y: number,
  height: number,
  number: number,
  wide: number,
): void {
  context.fillStyle = token("--text");
  if (height < 3) {
    context.fillRect(x - 6, y, 4, height); // next to it, so that its state is visible
    return;
  }
  context.fillRect(x - 1, y - 1, 2, height + 2);
  if (height < 10 || wide < 18) return;
  context.fillStyle = token("--surface");
  context.font = `10px ${token("--font")}`;
  context.textAlign = "left";
  context.textBaseline = "middle";
  context.fillText(`↻${number}`, x + 4, y + height / 2 + 0.5);
}

function drawLitRow(
  context: CanvasRenderingContext2D,
  { width }: Size,
  scene: AttemptScene,
  shown: readonly Attempt[],
): void {
  const lit = shown.find(({ trialId }) => trialId === scene.lit);
  if (!lit) return;
  context.fillStyle = token("--accent-soft");
  const high = Math.max(3, scene.row);
  context.fillRect(0, lit.row * scene.row - scene.top + (scene.row - high) / 2, width, high);
}

function drawOutline(context: CanvasRenderingContext2D, { width }: Size, scene: AttemptScene, attempt: Attempt): void {
  const { y, height } = bandOf(scene, attempt);
  const x = xOf(attempt.queued, scene.span, width);
  const high = Math.max(5, height + 2);
  context.strokeStyle = token("--text");
  context.lineWidth = 1.5;
  const wide = Math.max(3, xOf(endOf(attempt, scene.now), scene.span, width) - x + 2);
  context.strokeRect(x - 1, y + (height - high) / 2, wide, high);
}

/** The numbers of trials, as many as there is space for. */
function drawNumbers(context: CanvasRenderingContext2D, scene: AttemptScene, first: number, last: number): void {
  const every = roundStep(Math.max(1, LABEL / scene.row));
  context.font = `11px ${token("--font")}`;
  context.fillStyle = token("--text-3");
  context.textAlign = "right";
  context.textBaseline = "middle";
  let before = -1;
  for (const attempt of attemptsIn(scene.attempts, first, last)) {
    if (attempt.row === before) continue;
    before = attempt.row;
    if (attempt.row % every !== 0) continue;
    const y = (attempt.row + 0.5) * scene.row - scene.top;
    context.fillText(String(attempt.number), GUTTER - 8, Math.max(6, y));
  }
}

/** 1, 2, 5, 10, 20, … at least as large. */
function roundStep(least: number): number {
  const size = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 5, 10].map(factor => factor * size).find(step => step >= least) ?? 10 * size;
}

function drawGrid(context: CanvasRenderingContext2D, { width, height }: Size, { span }: AttemptScene): void {
  const foot = height - AXIS;
  context.font = `11px ${token("--font")}`;
  context.textBaseline = "alphabetic";
  context.textAlign = "left";
  context.lineWidth = 1;
  context.strokeStyle = token("--line");
  let free = GUTTER - 20;
  for (const { value, label, isDay } of clockTicks(
    span.from,
    span.to,
    Math.min(MOST_TICKS, (width - GUTTER) / APART),
  )) {
    const x = Math.round(xOf(value, span, width)) + 0.5;
    context.beginPath();
    context.moveTo(x, 0);
    context.lineTo(x, foot + 4);
    context.stroke();
    const wide = context.measureText(label).width;
    const left = Math.min(x - wide / 2, width - wide);
    if (left < free) continue;
    context.fillStyle = token(isDay ? "--text" : "--text-2");
    context.fillText(label, left, height - 8);
    free = left + wide + 10;
  }
  context.beginPath();
  context.moveTo(GUTTER, foot + 0.5);
  context.lineTo(width, foot + 0.5);
  context.stroke();
}
