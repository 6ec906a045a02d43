// Learning curves as numbers: smoothing, lookup and ranking.
import { bestValue, type Curve, endShares, nearestIndex, smoothed } from "./curve-values";

const curve = (trial_id: number, ...values: number[]): Curve => ({
  ...{ trial_id, number: trial_id, state: "finished", points: values.length },
  ...{ steps: values.map((_, step) => step), values },
});

test("no smoothing returns the same values", () => {
  const values = [3, 1, 2];
  expect(smoothed(values, 0)).toBe(values);
});

test("smoothing preserves a constant and stays between neighbours", () => {
  expect(smoothed([4, 4, 4], 0.9).map(value => value.toFixed(6))).toEqual(["4.000000", "4.000000", "4.000000"]);
  const [first, second] = smoothed([0, 1], 0.5);
  expect([first, second]).toEqual([0, 2 / 3]);
});

test("stronger smoothing changes less from step to step", () => {
  const jump = (weight: number) => {
    const line = smoothed([0, 0, 0, 1], weight);
    return (line[3] as number) - (line[2] as number);
  };
  expect(jump(0.9)).toBeLessThan(jump(0.5));
});

test.each([
  [-5, 0],
  [14, 1],
  [15, 2],
  [16, 2],
  [99, 3],
])("the nearest step to %s is at %s", (step, index) => expect(nearestIndex([0, 10, 20, 30], step)).toBe(index));

test("the best value follows the goal, and is unknown without one", () => {
  expect(bestValue([2, 1, 3], "minimize")).toBe(1);
  expect(bestValue([2, 1, 3], "maximize")).toBe(3);
  expect(bestValue([2, 1, 3], undefined)).toBeNull();
  expect(bestValue([], "minimize")).toBeNull();
});

test("curves are ranked by their last value", () => {
  const curves = [curve(1, 0, 5), curve(2, 9, 1), curve(3, 0, 3)];
  expect(endShares(curves, "maximize")).toEqual([1, 0, 0.5]);
  expect(endShares(curves, "minimize")).toEqual([0, 1, 0.5]);
});

test("one curve is the best, and without a goal all are equal", () => {
  expect(endShares([curve(1, 2)], "minimize")).toEqual([1]);
  expect(new Set(endShares([curve(1, 2), curve(2, 3)], undefined)).size).toBe(1);
});
