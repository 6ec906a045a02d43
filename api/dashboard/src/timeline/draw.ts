// Draws the timeline: a lane per device with bars and gaps, the axis below; and finds the item at a point.
import type { Draw } from "../auto-redraw-canvas";
import { clockTicks } from "../charts/ticks";
import { token } from "../theme";
import type { Bar, Gap, Segment } from "./device-bars-and-gaps";
import { gapInk, paintBar, paintGap, paintText } from "./segment-styles";
import { reasonText } from "./segment-text";
import type { Span } from "./visible-span";

export type Lane = { id: string; bars: Bar[]; gaps: Gap[] };
export type Scene = {
  lanes: readonly Lane[];
  span: Span;
  lane: number; // its height in pixels
  sweepId: number | null; // the highlighted sweep; all if null
  matching: ReadonlySet<number> | null; // the trials that match the filter; all if null
  lit: number | null; // the id of the hovered trial
  dragged: Span | null; // the span being selected
};

export const AXIS = 26;
const MARGIN = 4;
const MOST_TICKS = 16; // on a wide screen
const APART = 90; // px between times

export function drawing(scene: Scene): Draw {
  return (context, { width, height }) => {
    const at = (time: number) => ((time - scene.span.from) / (scene.span.to - scene.span.from)) * width;
    context.font = `12px ${token("--font")}`;
    drawAxis(context, scene, width, height);
    scene.lanes.forEach((lane, index) => {
      const box = { y: index * scene.lane + MARGIN, height: scene.lane - 2 * MARGIN };
      for (const gap of within(lane.gaps, scene.span)) drawGap(context, gap, { ...box, ...across(gap, at, width) });
      for (const bar of within(lane.bars, scene.span))
        drawBar(context, bar, { ...box, ...across(bar, at, width) }, scene);
    });
    if (scene.dragged) {
      context.globalAlpha = 0.18;
      context.fillStyle = token("--accent");
      context.fillRect(at(scene.dragged.from), 0, at(scene.dragged.to) - at(scene.dragged.from), height - AXIS);
      context.globalAlpha = 1;
    }
  };
}

type Box = { x: number; y: number; width: number; height: number };

function across(piece: Segment, at: (time: number) => number, width: number): { x: number; width: number } {
  const x = Math.max(-4, at(piece.start));
  return { x, width: Math.max(1, Math.min(width + 4, at(piece.end)) - x) };
}

function drawGap(context: CanvasRenderingContext2D, gap: Gap, box: Box): void {
  paintGap(context, gap.why, box);
  if (box.width > 70) paintText(context, reasonText(gap), gapInk(gap), withBackground(context, gap, box));
}

/** A plain background for text, which would be hard to read on the pattern. */
function withBackground(context: CanvasRenderingContext2D, gap: Gap, box: Box): Box {
  const inner = { ...box, x: Math.max(box.x, 0) + 3 };
  inner.width = box.x + box.width - inner.x - 3;
  const wide = Math.min(inner.width, context.measureText(reasonText(gap)).width + 10);
  context.fillStyle = token("--surface");
  context.globalAlpha = 0.85;
  context.fillRect(inner.x, box.y + box.height / 2 - 9, wide, 18);
  context.globalAlpha = 1;
  return inner;
}

function drawBar(context: CanvasRenderingContext2D, bar: Bar, box: Box, scene: Scene): void {
  const muted = isMuted(bar, scene);
  const gapped = box.width > 4 ? { ...box, width: box.width - 1 } : box;
  paintBar(context, bar, gapped, muted);
  if (bar.attempts === 1 && box.width > 30) {
    const seen = { ...box, x: Math.max(box.x, 0) };
    paintText(context, `#${bar.number}`, muted ? "--text" : "--surface", {
      ...seen,
      width: box.x + box.width - seen.x,
    });
  }
  if (bar.trialId !== null && bar.trialId === scene.lit) {
    context.strokeStyle = token("--text");
    context.lineWidth = 2;
    context.strokeRect(box.x, box.y - 1, box.width, box.height + 2);
  }
}

/** Whether a piece is muted: it belongs to another sweep, or is filtered out. */
export function isMuted(bar: Bar, { sweepId, matching }: Pick<Scene, "sweepId" | "matching">): boolean {
  if (sweepId !== null && bar.sweepId !== sweepId) return true;
  return matching !== null && bar.trialId !== null && !matching.has(bar.trialId);
}

function drawAxis(context: CanvasRenderingContext2D, { lanes, span, lane }: Scene, width: number, height: number) {
  const foot = height - AXIS;
  context.strokeStyle = token("--line");
  context.lineWidth = 1;
  context.beginPath();
  for (let index = 0; index <= lanes.length; index += 1) {
    context.moveTo(0, index * lane + 0.5);
    context.lineTo(width, index * lane + 0.5);
  }
  const marks = clockTicks(span.from, span.to, Math.min(MOST_TICKS, width / APART));
  for (const { value } of marks) {
    const x = Math.round(((value - span.from) / (span.to - span.from)) * width) + 0.5;
    context.moveTo(x, 0);
    context.lineTo(x, foot + 5);
  }
  context.stroke();
  context.textBaseline = "alphabetic";
  let free = 0;
  for (const { value, label, isDay } of marks) {
    const wide = context.measureText(label).width;
    const x = ((value - span.from) / (span.to - span.from)) * width - wide / 2;
    const left = Math.min(Math.max(0, x), width - wide);
    if (left < free) continue;
    context.fillStyle = token(isDay ? "--text" : "--text-2");
    context.fillText(label, left, height - 6);
    free = left + wide + 12;
  }
}

/** The items of a sorted list that overlap the span. */
export function within<P extends Segment>(pieces: readonly P[], span: Span): readonly P[] {
  let first = 0;
  let last = pieces.length;
  while (first < last) {
    const middle = (first + last) >> 1;
    if ((pieces[middle] as P).end < span.from) first = middle + 1;
    else last = middle;
  }
  let end = first;
  while (end < pieces.length && (pieces[end] as P).start < span.to) end += 1;
  return pieces.slice(first, end);
}

/** The item at a time in a lane: a bar before a gap, and the nearest short one within a few pixels. */
export function segmentAt(lane: Lane, time: number, near: number): Segment | null {
  const reach = { from: time - near, to: time + near };
  const bars = within(lane.bars, reach);
  const distance = (piece: Segment) => Math.max(piece.start - time, time - piece.end, 0);
  const closest = [...bars].sort((one, other) => distance(one) - distance(other))[0];
  if (closest && distance(closest) === 0) return closest;
  return within(lane.gaps, { from: time, to: time + 1e-6 })[0] ?? closest ?? null;
}
