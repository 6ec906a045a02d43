// Logarithmic axes of results: by choice, otherwise where results span decades.
import { numberAxis } from "./axis";
import { axisView, pointsOf } from "./fixture";
import { isLogScale, scaledAxis, spansDecades } from "./result-axis-scale";

const DECADES = Array.from({ length: 41 }, (_, at) => 10 ** (at / 10 - 2));

test.each([
  ["three decades", DECADES, true],
  ["less than three", [1, 10, 999], false],
  ["zero", [0, ...DECADES], false],
  ["negative values", [-1, ...DECADES], false],
  ["a few diverged trials", [...Array.from({ length: 50 }, (_, at) => 0.1 + at / 100), 1e6, 1e9], false],
  ["accuracies with one near zero", [0.0001, 0.7, 0.8, 0.85, 0.9, 0.91, 0.92, 0.93, 0.94, 0.95, 0.96], false],
  ["infinite ones among them", [...DECADES, Number.POSITIVE_INFINITY], true],
  ["one value", [5], false],
  ["none", [], false],
] as const)("%s", (_, values, expected) => expect(spansDecades(values)).toBe(expected));

test("a choice wins, but values that are not positive have no logarithm", () => {
  expect([isLogScale(false, DECADES), isLogScale(true, [1, 2]), isLogScale(true, [0, 2])]).toEqual([
    false,
    true,
    false,
  ]);
});

test("axes of results are scaled, those of parameters stay as they are", () => {
  const points = pointsOf({ value: DECADES, "params.lr": DECADES }, { axes: [axisView("lr")] });
  const [loss, lr] = [numberAxis("value", "loss", DECADES), numberAxis("params.lr", "lr", DECADES)];
  expect(scaledAxis(loss, points, undefined)).toMatchObject({ log: true, low: 0.01, high: 100 });
  expect(scaledAxis(loss, points, false)).toBe(loss);
  expect(scaledAxis(lr, points, true)).toBe(lr);
});
