// Charts derive axes, ranks, the best trial, the Pareto front and the best so far from the service's columns.
import { describe, expect, test } from "vitest";
import { type Axis, numberAxis, titleOf } from "./axis";
import { bestValue, nearestIndex, smoothed } from "./curve-values";
import { axisView, pointsOf } from "./fixture";
import { bestSoFar } from "./history";
import { frontOf } from "./pareto";
import { bestRow, goodness, outcomeAxes, parameterAxes } from "./trial-columns";

const ALL = (count: number) => new Uint8Array(count).fill(1);
const LOSS = numberAxis("value", "loss", [0, 1], { goal: "minimize" });

describe("axes", () => {
  test("of parameters are ranges and choices; constants and unused parameters are omitted", () => {
    const points = pointsOf(
      {
        "params.lr": [0.1, 0.01],
        "params.flag": [true, false],
        "params.epochs": [3, 3],
        "params.text": ["a", "a"],
      },
      {
        axes: [
          axisView("lr", { log: true, low: 1e-4, high: 1 }),
          axisView("flag", { kind: "choice", choices: [false, true] }),
          axisView("epochs", { kind: "choice", choices: [3], constant: true }),
          axisView("text", { kind: "choice", choices: ["a"] }),
          axisView("never"),
        ],
      },
    );
    const axes = parameterAxes(points);
    expect(axes.map(axis => [axis.name, axis.kind])).toEqual([
      ["lr", "number"],
      ["flag", "choice"],
    ]);
    expect([axes[0]?.low, axes[0]?.high, axes[0]?.log]).toEqual([1e-4, 1, true]);
    expect(axes[1]?.choices).toEqual([false, true]);
  });

  test("of outcomes are the value, or the values of several objectives", () => {
    expect(outcomeAxes(pointsOf({ value: [1, 2] })).map(axis => axis.key)).toEqual(["value", "running_s"]);
    const several = [
      { name: "loss", goal: "minimize" as const, target: null },
      { name: "cost", goal: "minimize" as const, target: null },
    ];
    const points = pointsOf({ "values.loss": [1], "values.cost": [2] }, { objectives: several });
    expect(outcomeAxes(points).map(axis => axis.key)).toEqual(["values.loss", "values.cost", "running_s"]);
  });

  test("of outcomes include peak memory if it was measured, in units of memory", () => {
    const points = pointsOf({ value: [1, 2], peak_memory_mb: [300, null] });
    const memory = outcomeAxes(points).find(axis => axis.key === "peak_memory_mb") as Axis;
    expect([titleOf(memory), memory.unit, memory.goal]).toEqual(["peak memory", "megabytes", "minimize"]);
    expect(outcomeAxes(points).map(axis => axis.key)).not.toContain("peak_gpu_memory_mb");
  });
});

test("goodness is 1 for the best and 0 for the worst, by rank", () => {
  expect([...goodness([5, null, 1, 1e30], "minimize")]).toEqual([0.5, Number.NaN, 1, 0]);
  expect([...goodness([5, 1], "maximize")]).toEqual([1, 0]);
});

describe("the best trial", () => {
  const points = pointsOf({
    value: [0.5, 0.1, 0.05, 0.3, 0.2],
    state: ["finished", "finished", "pruned", "finished", "finished"],
    feasible: [true, false, true, true, true],
  });

  test("has finished and violates no constraint", () => {
    expect(bestRow(points, LOSS)).toBe(4);
    expect(bestRow(points, LOSS, Uint8Array.from([1, 1, 1, 1, 0]))).toBe(3);
    expect(bestRow(pointsOf({ value: [null] }), LOSS)).toBe(-1);
  });

  test("so far includes only improvements, in order", () => {
    const found = bestSoFar(points, LOSS, points.columns.number ?? [], ALL(5));
    expect(found.map(each => each.row)).toEqual([0, 3, 4]);
  });
});

test("the Pareto front contains the trials that no other dominates", () => {
  const points = pointsOf({ "values.a": [1, 2, 3, 2, 1], "values.b": [3, 2, 3, 2, 1] });
  const [a, b] = ["a", "b"].map(name => numberAxis(`values.${name}`, name, [], { goal: "minimize" }));
  if (!a || !b) throw new Error("two axes");
  expect(frontOf(points, a, b, Uint8Array.from([1, 1, 1, 1, 0]))).toEqual([0, 1, 3]);
  expect(frontOf(points, a, b, ALL(5))).toEqual([4]);
  expect(frontOf(points, a, { ...b, goal: "maximize" }, ALL(5))).toEqual([0]);
});

describe("curves", () => {
  test("smoothing starts at the first value and has a bias correction", () => {
    expect(smoothed([4, 4, 4], 0.9)).toEqual([expect.closeTo(4), expect.closeTo(4), expect.closeTo(4)]);
    const [first, second] = smoothed([0, 3], 0.5);
    expect([first, second]).toEqual([0, 2]);
  });

  test("the nearest step is found between, before and after", () => {
    expect([-5, 0, 4, 6, 99].map(step => nearestIndex([0, 5, 10], step))).toEqual([0, 0, 1, 1, 2]);
  });

  test("the best value needs a goal", () => {
    expect([bestValue([3, 1, 2], "minimize"), bestValue([3, 1], "maximize"), bestValue([3], undefined)]).toEqual([
      1,
      3,
      null,
    ]);
  });
});
