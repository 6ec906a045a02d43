// Positions of values on axes, and tick labels.
import { describe, expect, test } from "vitest";
import { type Axis, numberAt, numberAxis, placeOn, placesOn, robustAxis, ticksOf, withRoom } from "./axis";

const LR = numberAxis("params.lr", "lr", [1e-5, 1], { log: true });
const CHOICE: Axis = { ...LR, kind: "choice", log: false, choices: ["sgd", "adam", null, true] };

describe("positions", () => {
  test("a log axis gives each order of magnitude the same length", () => {
    expect([1e-5, 1e-4, 1].map(value => placeOn(LR, value))).toEqual([0, expect.closeTo(0.2), 1]);
    expect(numberAt(LR, 0.2)).toBeCloseTo(1e-4, 8);
  });

  test("values outside the axis have no position", () => {
    expect([0, -1, null, "x", undefined, Number.NaN].map(value => placeOn(LR, value))).toEqual(Array(6).fill(null));
    expect(placeOn(CHOICE, "lion")).toBeNull();
  });

  test("choices are centred in their intervals, null and true included", () => {
    expect(["sgd", "adam", null, true].map(value => placeOn(CHOICE, value))).toEqual([0.125, 0.375, 0.625, 0.875]);
    expect([...placesOn(CHOICE, ["adam", "lion"])]).toEqual([0.375, Number.NaN]);
  });

  test("a single value is centred on its axis", () => {
    const axis = numberAxis("value", "value", [3, 3]);
    expect(axis.low).toBeLessThan(3);
    expect(placeOn(axis, 3)).toBeCloseTo(0.5);
  });

  test("padding at the ends keeps points off the frame", () => {
    const axis = withRoom(numberAxis("value", "value", [0, 10]), 0.1);
    expect([axis.low, axis.high]).toEqual([-1, 11]);
  });
});

describe("ticks", () => {
  test("are round numbers inside the axis", () => {
    expect(ticksOf(numberAxis("v", "v", [0.03, 0.97]), 4).map(tick => tick.label)).toEqual([
      "0.2",
      "0.4",
      "0.6",
      "0.8",
    ]);
    expect(ticksOf(numberAxis("v", "v", [0, 1]), 5).map(tick => tick.label)).toEqual([
      "0",
      "0.2",
      "0.4",
      "0.6",
      "0.8",
      "1.0",
    ]);
    expect(ticksOf(LR, 3).map(tick => tick.label)).toEqual(["1e−5", "1e−3", "1e−1"]);
  });

  test("of an integer axis are integers", () => {
    const labels = ticksOf(numberAxis("depth", "depth", [1, 3], { integer: true }), 8).map(tick => tick.label);
    expect(labels).toEqual(["1", "2", "3"]);
  });

  test("a log axis within one order of magnitude has ticks", () => {
    expect(ticksOf(numberAxis("v", "v", [2, 7], { log: true }), 4).length).toBeGreaterThanOrEqual(2);
  });
});

describe("outliers", () => {
  const values = [...Array.from({ length: 50 }, (_, index) => 1 + index / 50), 1e30];

  test("do not compress the other values", () => {
    const axis = robustAxis(numberAxis("value", "loss", values, { goal: "minimize" }), values);
    expect(axis.high).toBeLessThan(4);
    expect(axis.low).toBe(1);
  });

  test("good outliers are never cut off, and a log axis includes all values", () => {
    const good = robustAxis(numberAxis("value", "score", values, { goal: "maximize" }), values);
    expect(good.high).toBe(1e30);
    const log = numberAxis("value", "loss", values, { log: true, goal: "minimize" });
    expect(robustAxis(log, values)).toBe(log);
  });
});
