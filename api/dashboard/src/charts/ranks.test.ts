// Ranks of results with ties, and their colours.
import { SHADES, shadesOf } from "./colour";
import { sharesByRank } from "./ranks";

const ranks = (values: number[], goal: "minimize" | "maximize") => [...sharesByRank(Float64Array.from(values), goal)];

test.each([
  ["distinct values", [3, 1, 2], "minimize", [0, 1, 0.5]],
  ["ties share the mean of their ranks", [1, 0, 1, 2, 1], "maximize", [0.5, 0, 0.5, 1, 0.5]],
  ["tied best values", [5, 5, 1], "maximize", [0.75, 0.75, 0]],
  ["a constant objective", [0.5, 0.5, 0.5], "minimize", [1, 1, 1]],
  ["a single value", [7], "minimize", [1]],
  ["none", [], "minimize", []],
] as const)("%s", (_, values, goal, expected) => expect(ranks([...values], goal)).toEqual(expected));

test("equal values have one shade, and those of a constant objective the shade of the best", () => {
  const shadesFor = (values: number[]) => [...shadesOf(sharesByRank(Float64Array.from(values), "minimize"))];
  const [low, tied, high] = [...new Set(shadesFor([3, 1, 2, 2, 1, 3]))];
  expect(shadesFor([3, 1, 2, 2, 1, 3])).toEqual([low, tied, high, high, tied, low]);
  expect(shadesFor([0.5, 0.5, 0.5])).toEqual([SHADES, SHADES, SHADES]);
});
