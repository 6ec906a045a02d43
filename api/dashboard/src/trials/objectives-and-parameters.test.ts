// What the trial views derive from the parameters of a sweep file.
import { sweepFixture } from "../sweep/fixture";
import { constantsOf, filterNamesOf, isNumeric } from "./objectives-and-parameters";

const SWEEP = sweepFixture({
  spec: {
    metric: { name: "loss", goal: "minimize" },
    parameters: {
      lr: { min: 1e-4, max: 1 },
      width: { values: [16, 32] },
      optimizer: { values: ["adam", "sgd"] },
      only: { values: ["one"] },
      epochs: { value: 12 },
      bounded: { value: 1, min: 0, max: 2 },
    },
  },
});

test("constants have one value and no range", () => expect(constantsOf(SWEEP)).toEqual(["only", "epochs"]));

test("ranges and choices of numbers are numeric", () => {
  const names = ["lr", "width", "optimizer", "epochs", "unknown"];
  expect(names.filter(name => isNumeric(SWEEP, name))).toEqual(["lr", "width"]);
});

test("a filter may use parameters of the file and of the trials, objectives and attributes", () => {
  const known = filterNamesOf(SWEEP, ["params.lr", "params.dropout", "attrs.gpu", "constraints.size", "value"]);
  expect(known.params.map(param => param.name)).toEqual([
    ...["lr", "width", "optimizer", "only", "epochs", "bounded", "dropout"],
  ]);
  expect(known.params.find(param => param.name === "optimizer")?.values).toEqual(["adam", "sgd"]);
  expect(known.params.find(param => param.name === "dropout")?.values).toBeNull();
  expect(known.objectives).toEqual(["loss"]);
  expect(known.others).toEqual(["attrs.gpu", "constraints.size"]);
});

test("before the sweep has loaded only columns are known", () => {
  expect(filterNamesOf(undefined, ["params.lr"])).toEqual({
    params: [{ name: "lr", values: null }],
    objectives: [],
    others: [],
    metrics: [],
  });
});
