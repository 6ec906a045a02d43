// Parallel coordinates on a canvas: one line per trial across all axes; thousands are drawn in a few strokes. Pure.
import type { Size } from "../auto-redraw-canvas";
import { token } from "../theme";
import { type Axis, placesOn } from "./axis";
import { SHADES, shadeOf, shades } from "./colour";
import { columnOf, type Points } from "./trial-columns";

export const [TOP, BOTTOM] = [46, 28]; // px above and below the axes
const ABSENT = Number.NEGATIVE_INFINITY; // the position of a parameter that a trial does not have: below its axis
const ABSENT_UP = 8; // px from the lower edge
const SIDE = 50;
const NEAR = 7; // px
export const MANY = 1_500; // lines; of fewer, each is visible
export const BEST_TOKEN = "--gold";

export type Lines = { places: Float64Array[]; count: number };

/** Lines pass below the axis of a parameter that their trial does not have, and end where it has no result. */
export function linesOf(points: Points, axes: readonly Axis[]): Lines {
  return { places: axes.map(axis => placesOf(points, axis)), count: columnOf(points, "id").length };
}

function placesOf(points: Points, axis: Axis): Float64Array {
  const column = columnOf(points, axis.key);
  const places = placesOn(axis, column);
  return axis.key.startsWith("params.")
    ? places.map((place, row) => (Number.isNaN(place) && (column[row] ?? null) === null ? ABSENT : place))
    : places;
}

/** Whether some trials do not have the parameter. */
export function isAbsentOn(lines: Lines, index: number): boolean {
  return lines.places[index]?.includes(ABSENT) ?? false;
}

export function axisX(index: number, count: number, width: number): number {
  return count < 2 ? width / 2 : SIDE + (index * (width - 2 * SIDE)) / (count - 1);
}

export function placeY(place: number, height: number): number {
  if (place === ABSENT) return height - ABSENT_UP;
  return TOP + (1 - Math.max(0, Math.min(1, place))) * (height - TOP - BOTTOM);
}

export function placeAt(y: number, height: number): number {
  return Math.max(0, Math.min(1, 1 - (y - TOP) / (height - TOP - BOTTOM)));
}

/** All lines in one faint colour, behind the brushed ones. */
export function drawBehind(context: CanvasRenderingContext2D, size: Size, lines: Lines, inside: Uint8Array): void {
  const rows: number[] = [];
  for (let row = 0; row < lines.count; row += 1) if (!inside[row]) rows.push(row);
  context.strokeStyle = token("--line");
  context.globalAlpha = alphaFor(rows.length) * 0.8;
  context.lineWidth = 1;
  stroke(context, size, lines, rows);
  context.globalAlpha = 1;
}

/** The brushed lines, the best last so that it is on top. */
export function drawLines(
  context: CanvasRenderingContext2D,
  size: Size,
  lines: Lines,
  inside: Uint8Array,
  shares: Float64Array,
): void {
  const groups: number[][] = Array.from({ length: SHADES + 1 }, () => []);
  let count = 0;
  for (let row = 0; row < lines.count; row += 1) {
    if (!inside[row]) continue;
    const share = shares[row] as number;
    (groups[Number.isNaN(share) ? 0 : shadeOf(share) + 1] as number[]).push(row);
    count += 1;
  }
  const colours = [token("--line-strong"), ...shades()];
  context.lineWidth = count > 400 ? 1 : 1.4;
  groups.forEach((rows, group) => {
    const best = group / SHADES;
    context.globalAlpha = Math.min(1, alphaFor(count) * (0.6 + 0.8 * best));
    context.strokeStyle = colours[group] as string;
    stroke(context, size, lines, rows);
  });
  context.globalAlpha = 1;
}

function alphaFor(count: number): number {
  if (count < 200) return 0.9;
  return count < 1500 ? 0.45 : Math.max(0.03, 450 / count);
}

/** The best lines of thousands, above their density. */
export function drawBest(context: CanvasRenderingContext2D, size: Size, lines: Lines, rows: readonly number[]): void {
  context.strokeStyle = token(BEST_TOKEN);
  context.lineWidth = 1.25;
  context.globalAlpha = 0.85;
  stroke(context, size, lines, rows);
  context.globalAlpha = 1;
}

function stroke(context: CanvasRenderingContext2D, size: Size, lines: Lines, rows: readonly number[]): void {
  const { places } = lines;
  const xs = places.map((_, index) => axisX(index, places.length, size.width));
  // Long paths are slow in a software-rendered canvas.
  for (let start = 0; start < rows.length; start += 64) {
    context.beginPath();
    for (const row of rows.slice(start, start + 64)) trace(context, size, lines, xs, row);
    context.stroke();
  }
}

function trace(context: CanvasRenderingContext2D, size: Size, lines: Lines, xs: readonly number[], row: number): void {
  let isDown = false;
  for (let index = 0; index < xs.length; index += 1) {
    const place = lines.places[index]?.[row] as number;
    if (Number.isNaN(place)) isDown = false;
    else if (isDown) context.lineTo(xs[index] as number, placeY(place, size.height));
    else context.moveTo(xs[index] as number, placeY(place, size.height));
    isDown = !Number.isNaN(place);
  }
}

/** Highlighted lines, thick, above all others. */
export function drawOver(
  context: CanvasRenderingContext2D,
  size: Size,
  lines: Lines,
  rows: readonly number[],
  colour: string,
): void {
  context.strokeStyle = token(colour);
  context.lineWidth = 3;
  stroke(context, size, lines, rows);
}

/** The brushed line under a point, or null. */
export function lineAt(x: number, y: number, size: Size, lines: Lines, inside: Uint8Array): number | null {
  const count = lines.places.length;
  const xs = lines.places.map((_, index) => axisX(index, count, size.width));
  const right = Math.max(
    1,
    xs.findIndex(each => each >= x),
  );
  const [left, share] = [
    right - 1,
    (x - (xs[right - 1] as number)) / ((xs[right] as number) - (xs[right - 1] as number)),
  ];
  if (count < 2 || share < 0 || share > 1) return null;
  let [found, least]: [number | null, number] = [null, NEAR];
  for (let row = 0; row < lines.count; row += 1) {
    if (!inside[row]) continue;
    const [from, to] = [lines.places[left]?.[row] as number, lines.places[right]?.[row] as number];
    const between = placeY(from, size.height) * (1 - share) + placeY(to, size.height) * share;
    const distance = Math.abs(between - y);
    if (distance < least) [found, least] = [row, distance];
  }
  return found;
}
