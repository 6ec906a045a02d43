import { expect, test } from "vitest";
import type { Rgb } from "./colour";
import { placeY } from "./draw-parallel-lines";
import { ParallelLineRaster } from "./parallel-line-raster";

const SIZE = { width: 120, height: 100 };
const SHADES = Array.from({ length: 25 }, (_, shade): Rgb => [shade * 10, 0, 0]);
const COLOURS = { shades: SHADES, behind: [0, 0, 200] as Rgb };
const COUNT = 400;

const share = (line: number, axis: number) => ((line + 1) * (axis + 1) * 0.618034) % 1;
const LINES = {
  places: [0, 1, 2].map(axis => Float64Array.from({ length: COUNT }, (_, line) => share(line, axis))),
  count: COUNT,
};
const raster = (lines = LINES, shades = Uint8Array.from({ length: COUNT }, (_, line) => line % 25)) =>
  new ParallelLineRaster(lines, shades, SIZE.width, SIZE.height, SIZE);

function picture(of: ParallelLineRaster, lit = true): Uint32Array {
  const pixels = new Uint32Array(SIZE.width * SIZE.height);
  of.paint(pixels, COLOURS, lit);
  return pixels;
}

test("a moved brush redraws only the changed lines, and the image equals a full redraw", () => {
  const [before, after] = [0.9, 0.7].map(end =>
    Uint8Array.from({ length: COUNT }, (_, line) => (share(line, 0) <= end ? 1 : 0)),
  ) as [Uint8Array, Uint8Array];
  const [moved, fresh] = [raster(), raster()];
  expect(moved.show(before)).toBe(COUNT);
  const changed = before.filter((isIn, line) => isIn !== after[line]).length;
  expect(changed).toBeLessThan(COUNT / 3);
  expect(moved.show(after)).toBe(changed);
  expect(moved.show(after)).toBe(0);
  fresh.show(after);
  expect(picture(moved)).toEqual(picture(fresh));
});

const level = (...places: number[]) => ({
  places: [places, places].map(each => Float64Array.from(each)),
  count: places.length,
});

function colourAt(of: ParallelLineRaster, place: number, lit = true) {
  const pixel = picture(of, lit)[Math.round(placeY(place, SIZE.height)) * SIZE.width + 60] as number;
  return { red: pixel & 255, blue: (pixel >> 16) & 255, alpha: pixel >>> 24 };
}

test("a pixel has the mean shade of its lines, unbrushed lines are faint, and lines without a position are not drawn", () => {
  const both = raster(level(0.5, 0.5, 0, Number.NaN), Uint8Array.from([1, 23, 1, 24]));
  both.show(Uint8Array.from([1, 1, 0, 1]));
  expect(colourAt(both, 0.5)).toMatchObject({ red: 120, blue: 0 });
  expect(colourAt(both, 0)).toEqual({ red: 0, blue: 200, alpha: 56 });
  expect(colourAt(both, 0.5, false).alpha).toBe(0);
  expect(picture(both).every(pixel => Number.isFinite(pixel))).toBe(true);
});

test.each([1, 30])("opacity is the density relative to the densest parts (%i times as many lines)", times => {
  const places = [1, 5, 20].flatMap((count, at) => new Array<number>(count * times).fill(at / 2));
  const dense = raster(level(...places), new Uint8Array(places.length).fill(12));
  dense.show(new Uint8Array(places.length).fill(1));
  const [thin, middle, thick] = [0, 0.5, 1].map(place => colourAt(dense, place).alpha) as [number, number, number];
  expect(thin).toBeLessThan(70);
  expect(middle - thin).toBeGreaterThan(25);
  expect(thick - middle).toBeGreaterThan(50);
  expect(thick).toBe(204); // no part is a solid block
});
