import { expect, test } from "vitest";
import { PointRaster, packed, type Stamp } from "./point-raster";

const FULL: Stamp = { shape: "disk", radius: 2, alpha: 1 };

function drawn(draw: (raster: PointRaster) => void): (x: number, y: number) => number {
  const bytes = new ArrayBuffer(4 * 20 * 10);
  draw(new PointRaster(bytes, 20, 10));
  const pixels = new Uint32Array(bytes);
  return (x, y) => pixels[y * 20 + x] as number;
}

test("points are round, and later ones are on top", () => {
  const at = drawn(raster => {
    raster.draw(6, 5, packed([1, 2, 3]), FULL);
    raster.draw(7, 5, packed([4, 5, 6]), FULL);
  });
  expect(at(7, 5)).toBe(0xff060504);
  expect(at(4, 5) >>> 24).toBeGreaterThan(0);
  expect(at(4, 3)).toBe(0);
  expect(at(4, 5) & 0xffffff).toBe(0x030201);
});

test("a point is clipped at the edge and does not wrap around", () => {
  const at = drawn(raster => {
    raster.draw(0, 5, packed([9, 9, 9]), FULL);
    raster.draw(-40, -40, packed([9, 9, 9]), FULL);
  });
  expect(at(0, 5)).toBe(0xff090909);
  expect([at(19, 4), at(19, 5), at(18, 5)]).toEqual([0, 0, 0]);
});

test("a hollow point is a ring", () => {
  const at = drawn(raster => raster.draw(8, 5, packed([9, 9, 9]), { ...FULL, shape: "ring", line: 0 }));
  expect(at(8, 5)).toBe(0);
  expect(at(10, 5) >>> 24).toBeGreaterThan(100);
});

test("a cross has two diagonals, and nothing between them", () => {
  const at = drawn(raster => raster.draw(8, 5, packed([9, 9, 9]), { ...FULL, shape: "cross", line: 1 }));
  for (const [x, y] of [
    [8, 5],
    [6, 3],
    [10, 3],
    [6, 7],
    [10, 7],
  ] as const)
    expect(at(x, y) >>> 24).toBe(255);
  for (const [x, y] of [
    [8, 3],
    [6, 5],
    [12, 9],
  ] as const)
    expect(at(x, y)).toBe(0);
});

test("a wider ring is opaque on its line", () => {
  const at = drawn(raster => raster.draw(8, 5, packed([9, 9, 9]), { ...FULL, shape: "ring", line: 1 }));
  expect([at(10, 5) >>> 24, at(8, 5)]).toEqual([255, 0]);
});
