// The distribution of results, and ranks by two parameters: shares with ties, rows that count, and labels.
import { render, screen } from "@testing-library/react";
import { stubSize } from "../testing/component-test-setup";
import { numberAxis } from "./axis";
import { Edf, sharesOf } from "./edf";
import { pointsOf } from "./fixture";
import { Rank } from "./rank";

const LOSS = { ...numberAxis("value", "loss", [1, 4]), goal: "minimize" as const };
const linked = { active: null, selected: new Set<number>(), onActive: () => undefined };

afterEach(() => vi.unstubAllGlobals());

test("shares count finished trials inside the filter, and ties have the same share", () => {
  const points = pointsOf({ value: [2, 1, 2, 4, 3, null], state: [...Array(4).fill("finished"), "pruned", "failed"] });
  const { ys, sorted } = sharesOf(points, "value", Uint8Array.from([1, 1, 1, 1, 1, 1]));
  expect(sorted).toEqual([1, 2, 2, 4]);
  expect(ys).toEqual([75, 25, 75, 100, null, null]);
  expect(sharesOf(points, "value", Uint8Array.from([1, 1, 0, 0, 1, 1])).ys).toEqual([100, 50, null, null, null, null]);
});

test("the distribution names its median", () => {
  stubSize(600);
  const points = pointsOf({ value: [1, 2, 4] });
  render(<Edf points={points} metric={LOSS} log={false} inside={Uint8Array.from([1, 1, 1])} {...linked} />);
  expect(screen.getByRole("img")).toHaveAccessibleName(
    "Distribution of loss over 3 finished trials; half have at most 2.",
  );
});

test("without finished trials the distribution says so", () => {
  stubSize(600);
  const points = pointsOf({ value: [null], state: ["failed"] });
  render(<Edf points={points} metric={LOSS} log={false} inside={Uint8Array.from([1])} {...linked} />);
  expect(screen.getByRole("img")).toHaveAccessibleName("Distribution of loss: no trial has finished.");
});

test("ranks are drawn over two parameters", () => {
  stubSize(600);
  const points = pointsOf({ value: [1, 2], "params.lr": [0.1, 0.2], "params.width": [8, 16] });
  const [x, y] = [numberAxis("params.lr", "lr", [0.1, 0.2]), numberAxis("params.width", "width", [8, 16])];
  render(<Rank points={points} x={x} y={y} metric={LOSS} inside={Uint8Array.from([1, 1])} {...linked} />);
  expect(screen.getByRole("img")).toHaveAccessibleName("Rank of loss by lr and width, 2 trials.");
});

test("a brush changes the number of ranked trials in the description", () => {
  stubSize(600);
  const points = pointsOf({ value: [1, 2, 3], "params.lr": [0.1, 0.2, 0.3], "params.width": [8, 16, 32] });
  const [x, y] = [numberAxis("params.lr", "lr", [0.1, 0.3]), numberAxis("params.width", "width", [8, 32])];
  render(<Rank points={points} x={x} y={y} metric={LOSS} inside={Uint8Array.from([1, 0, 1])} {...linked} />);
  expect(screen.getByRole("img")).toHaveAccessibleName("Rank of loss by lr and width, 2 trials.");
});
