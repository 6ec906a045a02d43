// The best trials among the brushed ones: their number, ties, and which trials can be among them.
import { expect, test } from "vitest";
import { numberAxis } from "./axis";
import { bestInside, rankingOf } from "./best-parallel-lines";
import { pointsOf } from "./fixture";

const COUNT = 40;
const VALUES = Array.from({ length: COUNT }, (_, row) => row);
const HIGHER = { ...numberAxis("value", "score", [0, COUNT]), goal: "maximize" as const };
const ALL = new Uint8Array(COUNT).fill(1);

test("the best tenth of the trials inside the brushes, by the goal", () => {
  const points = pointsOf({ value: VALUES });
  expect(bestInside(rankingOf(points, HIGHER), ALL)).toEqual([39, 38, 37, 36]);
  expect(bestInside(rankingOf(points, { ...HIGHER, goal: "minimize" }), ALL)).toEqual([0, 1, 2, 3]);
  const half = Uint8Array.from(VALUES, row => (row < 20 ? 1 : 0));
  expect(bestInside(rankingOf(points, HIGHER), half)).toEqual([19, 18]);
  expect(bestInside(rankingOf(points, { ...HIGHER, goal: undefined }), ALL)).toEqual([]);
});

test("at most 50", () => {
  const many = Array.from({ length: 2_000 }, (_, row) => row);
  expect(bestInside(rankingOf(pointsOf({ value: many }), HIGHER), new Uint8Array(2_000).fill(1))).toHaveLength(50);
});

test("of trials that are equal at the limit, none is preferred", () => {
  const tied = VALUES.map(row => (row < 30 ? 7 : row));
  expect(bestInside(rankingOf(pointsOf({ value: tied }), { ...HIGHER, goal: "minimize" }), ALL)).toEqual([]);
  const two = VALUES.map(row => (row > 37 ? 9 : 1));
  expect(bestInside(rankingOf(pointsOf({ value: two }), HIGHER), ALL)).toEqual([38, 39]);
});

test("pruned and infeasible trials and those without a value are not among them", () => {
  const states = VALUES.map(row => (row === 39 ? "pruned" : "finished"));
  const feasible = VALUES.map(row => row !== 38);
  const points = pointsOf({ value: [...VALUES.slice(0, 37), null, 38, 39], state: states, feasible });
  expect(bestInside(rankingOf(points, HIGHER), ALL)).toEqual([36, 35, 34, 33]);
});
