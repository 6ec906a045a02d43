// Ranks of results with ties.
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
