// Draws the points of a chart: a few as smooth circles, hundreds or more as one rasterized image.
import { token } from "../theme";
import { type Axis, placesOn, type Scalar } from "./axis";
import { type Rgb, SHADES, shadeOf, shadeParts, shades, tokenParts } from "./colour";
import { type Frame, type Point, xAt, yAt } from "./plot-area-and-grid";
import { PointRaster, packed, type Stamp } from "./point-raster";
import { isUnfinished } from "./unfinished";

export type Places = { xs: Float64Array; ys: Float64Array; rows: readonly number[] }; // by row; the rows to draw

const [SOME, MANY] = [400, 4_000]; // number of points: above it they are rasterized, far above it they are smaller
const BEYOND = 6; // px around the plot, so that points on its edge are complete
const KNOWN = new WeakMap<Axis, WeakMap<readonly Scalar[], Float64Array>>();

/** The positions of a column on an axis, computed once: charts share axes, and a brush changes neither the axis nor the column. */
export function placesOf(axis: Axis, column: readonly Scalar[]): Float64Array {
  const ofAxis = KNOWN.get(axis) ?? new WeakMap<readonly Scalar[], Float64Array>();
  KNOWN.set(axis, ofAxis);
  const places = ofAxis.get(column) ?? placesOn(axis, column);
  ofAxis.set(column, places);
  return places;
}

/** The position of a row; values beyond an end are drawn at the edge. */
export function pointIn({ xs, ys }: Places, row: number, frame: Frame): Point {
  return { x: xAt(frame, edge(xs[row] as number)), y: yAt(frame, edge(ys[row] as number)) };
}

function edge(place: number): number {
  return Math.max(0, Math.min(1, place));
}

/** Coloured by rank with the best on top; infeasible trials as rings above all others. */
export function drawPoints(
  context: CanvasRenderingContext2D,
  frame: Frame,
  places: Places,
  shares: Float64Array | undefined,
  feasible: readonly Scalar[],
  states: readonly Scalar[] = [],
): void {
  const { rows } = places;
  const unfinished: number[] = [];
  const groups: number[][] = Array.from({ length: SHADES + 1 }, () => []);
  for (const row of rows) {
    if (isUnfinished(states[row])) {
      unfinished.push(row);
      continue;
    }
    const share = shares?.[row] ?? Number.NaN;
    const group = feasible[row] === false ? SHADES : Number.isNaN(share) ? SHADES - 1 : shadeOf(share);
    (groups[group] as number[]).push(row);
  }
  const style = styleOf(rows.length);
  const isRaster = rows.length > SOME && "createImageData" in context; // an SVG file has circles
  if (isRaster) {
    drawPicture(context, frame, places, [
      ...marksOf(groups, shares !== undefined, style),
      ...crossed(unfinished, states, style),
    ]);
  } else {
    drawCircles(context, frame, places, groups, shares !== undefined, style);
    if (unfinished.length > 0) drawUnfinished(context, frame, places, unfinished, states, style);
  }
}

type Style = { radius: number; alpha: number; line: number }; // `line`: the width of rings and crosses

function styleOf(count: number): Style {
  if (count > MANY) return { radius: 1.5, alpha: 0.55, line: 1 };
  return { radius: count > 500 ? 2.5 : 3.5, alpha: 0.85, line: 1.5 };
}

/** Failed trials as crosses, pruned and running ones as rings: their values are no results. */
function drawUnfinished(
  context: CanvasRenderingContext2D,
  frame: Frame,
  places: Places,
  rows: readonly number[],
  states: readonly Scalar[],
  { radius, line }: Style,
): void {
  context.lineWidth = line;
  for (const failed of [false, true]) {
    context.beginPath();
    for (const row of rows) {
      if ((states[row] === "failed") !== failed) continue;
      const { x, y } = pointIn(places, row, frame);
      if (failed) {
        context.moveTo(x - radius, y - radius);
        context.lineTo(x + radius, y + radius);
        context.moveTo(x - radius, y + radius);
        context.lineTo(x + radius, y - radius);
      } else {
        context.moveTo(x + radius, y);
        context.arc(x, y, radius, 0, 2 * Math.PI);
      }
    }
    context.strokeStyle = token(failed ? "--failed" : "--pruned");
    context.stroke();
  }
}

function drawCircles(
  context: CanvasRenderingContext2D,
  frame: Frame,
  places: Places,
  groups: readonly number[][],
  shaded: boolean,
  { radius, alpha }: Style,
): void {
  const colours = shaded ? shades() : [];
  context.globalAlpha = alpha;
  groups.forEach((alike, group) => {
    context.beginPath();
    for (const row of alike) {
      const { x, y } = pointIn(places, row, frame);
      context.moveTo(x + radius, y);
      context.arc(x, y, radius, 0, 2 * Math.PI);
    }
    if (group === SHADES) {
      context.strokeStyle = token("--text-3");
      context.lineWidth = 1;
      context.stroke();
    } else {
      context.fillStyle = colours[group] ?? token("--accent");
      context.fill();
    }
  });
  context.globalAlpha = 1;
}

type Marks = { rows: readonly number[]; colour: number; stamp: Stamp };

/** Results from the worst to the best, and infeasible ones. */
function marksOf(groups: readonly number[][], shaded: boolean, { radius, alpha }: Style): Marks[] {
  const parts: readonly Rgb[] = shaded ? shadeParts() : [];
  const full: Stamp = { shape: "disk", radius, alpha };
  const ring: Stamp = { shape: "ring", radius, alpha, line: 0 };
  return groups.map((rows, group) => {
    if (group === SHADES) return { rows, colour: packed(tokenParts("--text-3")), stamp: ring };
    return { rows, colour: packed(parts[group] ?? tokenParts("--accent")), stamp: full };
  });
}

/** Like `drawUnfinished`. */
function crossed(rows: readonly number[], states: readonly Scalar[], { radius, line }: Style): Marks[] {
  const ring: Stamp = { shape: "ring", radius, alpha: 1, line };
  const others = rows.filter(row => states[row] !== "failed");
  const failed = rows.filter(row => states[row] === "failed");
  return [
    { rows: others, colour: packed(tokenParts("--pruned")), stamp: ring },
    { rows: failed, colour: packed(tokenParts("--failed")), stamp: { ...ring, shape: "cross" } },
  ];
}

let scratch: HTMLCanvasElement | null = null; // shared by all charts: each copies it at once

function drawPicture(context: CanvasRenderingContext2D, frame: Frame, places: Places, marks: readonly Marks[]): void {
  const ratio = context.getTransform().a || 1;
  const corner = { x: Math.floor((frame.left - BEYOND) * ratio), y: Math.floor((frame.top - BEYOND) * ratio) };
  const width = Math.ceil((frame.width + 2 * BEYOND) * ratio);
  const height = Math.ceil((frame.height + 2 * BEYOND) * ratio);
  const image = context.createImageData(width, height);
  const raster = new PointRaster(image.data.buffer, width, height);
  for (const { rows, colour, stamp } of marks) {
    const scaled = scaledBy(ratio, stamp);
    for (const row of rows) {
      const x = xAt(frame, edge(places.xs[row] as number)) * ratio - corner.x - 0.5;
      const y = yAt(frame, edge(places.ys[row] as number)) * ratio - corner.y - 0.5;
      raster.draw(x, y, colour, scaled);
    }
  }
  scratch ??= document.createElement("canvas");
  if (scratch.width < width) scratch.width = width;
  if (scratch.height < height) scratch.height = height;
  scratch.getContext("2d")?.putImageData(image, 0, 0);
  const size = [width / ratio, height / ratio] as const;
  context.drawImage(scratch, 0, 0, width, height, corner.x / ratio, corner.y / ratio, ...size);
}

function scaledBy(ratio: number, stamp: Stamp): Stamp {
  const radius = stamp.radius * ratio;
  return stamp.shape === "disk" ? { ...stamp, radius } : { ...stamp, radius, line: stamp.line * ratio };
}
