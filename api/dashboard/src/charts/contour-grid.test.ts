import { expect, test } from "vitest";
import { COLUMNS, ROWS, surface as surfaceOf } from "./contour-grid";

const surface = (xs: number[], ys: number[], shares: number[]) => {
  const rows = xs.map((_, row) => row);
  return surfaceOf({ xs: Float64Array.from(xs), ys: Float64Array.from(ys), rows }, Float64Array.from(shares));
};
const at = (cells: Float64Array, x: number, y: number) =>
  cells[Math.floor(y * ROWS) * COLUMNS + Math.floor(x * COLUMNS)];

test("each cell is the average of nearby trials, weighted by distance", () => {
  const cells = surface([0.2, 0.8], [0.5, 0.5], [0, 1]);
  expect(at(cells, 0.2, 0.5)).toBeCloseTo(0, 2);
  expect(at(cells, 0.8, 0.5)).toBeCloseTo(1, 2);
  expect(at(surface([0.4, 0.6], [0.5, 0.5], [0, 1]), 0.499, 0.5)).toBeCloseTo(0.48, 1);
});

test("cells without a nearby trial are NaN", () => {
  expect(at(surface([0.1], [0.1], [1]), 0.9, 0.9)).toBeNaN();
});

test("very many trials have equal weight at every position", () => {
  const many = Array.from({ length: 5_000 }, (_, index) => index / 5_000);
  const cells = surface(many, many, many);
  expect(at(cells, 0.25, 0.25)).toBeCloseTo(0.25, 1);
  expect(at(cells, 0.75, 0.75)).toBeCloseTo(0.75, 1);
});
