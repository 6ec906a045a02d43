// History and Pareto charts: the best so far, the front, and their descriptions.
import { render, screen } from "@testing-library/react";
import { numberAxis } from "./axis";
import { pointsOf } from "./fixture";
import { bestSoFar, History } from "./history";
import { frontOf, Pareto } from "./pareto";

const LOSS = numberAxis("value", "loss", [0, 1], { goal: "minimize" });
const ACCURACY = numberAxis("values.accuracy", "accuracy", [0, 1], { goal: "maximize" });
const SIZE = numberAxis("values.size", "size", [0, 10], { goal: "minimize" });
const ALL = (count: number) => new Uint8Array(count).fill(1);
const nothing = () => undefined;
const REST = { active: null, selected: new Set<number>(), onActive: nothing, log: false };

test("trials sorted by time improve in that order", () => {
  const points = pointsOf({ value: [0.2, 0.5, 0.1] });
  expect(bestSoFar(points, LOSS, [3, 1, 2], ALL(3)).map(best => best.row)).toEqual([1, 2]);
});

test("running, infeasible and filtered trials are not the best", () => {
  const points = pointsOf({
    value: [0.9, 0.1, 0.2, 0.3],
    state: ["finished", "running", "finished", "finished"],
    feasible: [true, true, false, true],
  });
  expect(bestSoFar(points, LOSS, [0, 1, 2, 3], ALL(4)).map(best => best.row)).toEqual([0, 3]);
  expect(bestSoFar(points, LOSS, [0, 1, 2, 3], Uint8Array.of(1, 1, 1, 0)).map(best => best.row)).toEqual([0]);
});

test("the history describes the best trial and the number of improvements", () => {
  const points = pointsOf({ value: [0.5, 0.25, 0.75] });
  render(<History points={points} metric={LOSS} by="number" inside={ALL(3)} {...REST} />);
  expect(
    screen.getByRole("img", { name: /loss of 3 trials. Best 0.25, by trial 1, after 2 improvements/ }),
  ).toBeTruthy();
});

test("a history without finished trials shows a message", () => {
  const points = pointsOf({ value: [null], state: ["running"] });
  render(<History points={points} metric={LOSS} by="number" inside={ALL(1)} {...REST} />);
  expect(screen.getByRole("img", { name: /no trial has finished/ })).toBeTruthy();
});

test.each([
  [[0.3, 9, 0.2, 0.4, 0.3, 0.2, 0.4, 0.3, 0.2, 0.3, 0.4, 0.2], "1 outlier drawn at the edge"],
  [[0.3, 0.4, 0.2], null],
])("outliers of %j are noted", (value, note) => {
  const points = pointsOf({ value });
  const metric = numberAxis("value", "loss", value, { goal: "minimize" });
  render(<History points={points} metric={metric} by="number" inside={ALL(value.length)} {...REST} />);
  if (note) expect(screen.getByText(note)).toBeTruthy();
  else expect(screen.queryByText(/outlier/)).toBeNull();
});

test("trials that are worse in one and equal in the other objective are dominated", () => {
  const points = pointsOf({ "values.accuracy": [0.9, 0.9, 0.8], "values.size": [5, 6, 1] });
  expect(frontOf(points, ACCURACY, SIZE, ALL(3))).toEqual([0, 2]);
});

test("equal trials are on the front together, incomplete ones are not", () => {
  const points = pointsOf({ "values.accuracy": [0.9, 0.9, null], "values.size": [5, 5, 1] });
  expect(frontOf(points, ACCURACY, SIZE, ALL(3))).toEqual([0, 1]);
});

test("the Pareto chart counts its front and names the better directions", () => {
  const points = pointsOf({ "values.accuracy": [0.9, 0.5], "values.size": [5, 6] });
  render(<Pareto points={points} x={ACCURACY} y={SIZE} inside={ALL(2)} {...REST} />);
  expect(screen.getByRole("img", { name: /1 of 2 trials are not dominated/ })).toBeTruthy();
  expect(screen.getByText(/better: accuracy →, size ↓/)).toBeTruthy();
});
