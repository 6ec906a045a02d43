import { expect, test } from "vitest";
import { PointRaster, packed } from "./point-raster";

const FULL = { radius: 2, hollow: false, alpha: 1 };

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
  const at = drawn(raster => raster.draw(8, 5, packed([9, 9, 9]), { ...FULL, hollow: true }));
  expect(at(8, 5)).toBe(0);
  expect(at(10, 5) >>> 24).toBeGreaterThan(100);
});
