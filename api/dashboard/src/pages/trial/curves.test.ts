// Curves that grow: points at their ends, gaps that are to be filled, and their figures in words.
import { expect, test } from "vitest";
import { extended, hasGap, isLong } from "./curves";
import { describeCurve } from "./plot";

const curves = { loss: [[0, 2] as [number, number], [1, 1] as [number, number]] };

test("a live point goes to the end of its curve, once", () => {
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

test("steps between are missed", () => {
  expect(hasGap(curves, { loss: [2, 0] })).toBe(false);
  expect(hasGap(curves, { loss: [5, 0] })).toBe(true);
  expect(hasGap({}, { loss: [0, 0] })).toBe(false);
});

test("a curve in words, for those who cannot see it", () => {
  expect(describeCurve("loss", [...curves.loss, [2, 0.5], [3, 0.75]])).toBe(
    "loss: 2 at step 0, 0.75 at step 3; lowest 0.5 at step 2, highest 2 at step 0",
  );
  expect(describeCurve("loss", [])).toBe("loss: no points");
});

test("a curve that has grown long is asked for again, which thins it", () => {
  const grown = (count: number) => ({ loss: Array.from({ length: count }, (_, step): [number, number] => [step, 1]) });
  expect(isLong(grown(1_200))).toBe(false);
  expect(isLong(grown(2_401))).toBe(true);
});
