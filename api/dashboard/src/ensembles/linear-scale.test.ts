// Conversion between values and pixels, and round tick values.
import { nearest, scale, ticks } from "./linear-scale";

test("a value is converted to its pixel and back", () => {
  const found = scale([0, 10], 50, 150);
  expect(found.to(5)).toBe(100);
  expect(found.back(100)).toBe(5);
});

test("a single value is centred", () => {
  expect(scale([3, 3], 0, 100).to(3)).toBe(50);
});

test.each([
  [[0, 1], 4, false, [0, 0.5, 1]],
  [[0.93, 0.98], 4, false, [0.94, 0.96, 0.98]],
  [[1, 5], 8, true, [1, 2, 3, 4, 5]],
  [[1, 50], 4, true, [20, 40]],
] as const)("from %s, about %s of them", (range, about, whole, expected) => {
  expect(ticks(range, about, whole)).toEqual(expected);
});

test("finds the nearest value, or none in an empty list", () => {
  expect(nearest([1, 2, 5], 3.4)).toBe(2);
  expect(nearest([], 3)).toBeNull();
});
