// Growing curves: appended points, gaps, and descriptions.
import { expect, test } from "vitest";
import { extended, hasGap, isLong } from "./curves";
import { describeCurve } from "./metric-plot";

const curves = { loss: [[0, 2] as [number, number], [1, 1] as [number, number]] };

test("a live point is appended to its curve once", () => {
  expect(extended(curves, { loss: [2, 0.5], acc: [0, 0.1] })).toEqual({
    loss: [
      [0, 2],
      [1, 1],
      [2, 0.5],
    ],
    acc: [[0, 0.1]],
  });
  expect(extended(curves, { loss: [1, 1] })).toEqual(curves);
});

test("a point that skips steps leaves a gap", () => {
  expect(hasGap(curves, { loss: [2, 0] })).toBe(false);
  expect(hasGap(curves, { loss: [5, 0] })).toBe(true);
  expect(hasGap({}, { loss: [0, 0] })).toBe(false);
});

test("a curve has a description for screen readers", () => {
  expect(describeCurve("loss", [...curves.loss, [2, 0.5], [3, 0.75]])).toBe(
    "loss: 2 at step 0, 0.75 at step 3; lowest 0.5 at step 2, highest 2 at step 0",
  );
  expect(describeCurve("loss", [])).toBe("loss: no points");
});

test("a curve that has grown long is requested again", () => {
  const grown = (count: number) => ({ loss: Array.from({ length: count }, (_, step): [number, number] => [step, 1]) });
  expect(isLong(grown(1_200))).toBe(false);
  expect(isLong(grown(2_401))).toBe(true);
});
