// Brushes are written to the filter and read back.
import { describe, expect, test } from "vitest";
import { type Axis, numberAxis } from "./axis";
import { isIn, readBrushes, roundedEnd, rowsIn, withoutRanges, writeBrushes } from "./brush-filter-terms";

const LR = numberAxis("params.lr", "lr", [1e-5, 1], { log: true });
const DEPTH = numberAxis("params.depth", "depth", [1, 9], { integer: true });
const STATE = numberAxis("params.state", "state", [0, 1]);
const SPACED = numberAxis("params.my rate", "my rate", [0, 1]);
const LOSS = numberAxis("value", "loss", [0, 2]);
const OPTIMIZER: Axis = {
  ...LR,
  key: "params.optimizer",
  name: "optimizer",
  kind: "choice",
  choices: ["adam", "a b", true, null, 3],
};
const AXES = [LR, DEPTH, STATE, SPACED, LOSS, OPTIMIZER];

test("brushes survive a round trip through the filter", () => {
  const brushes = {
    "params.lr": { low: 0.001, high: 0.02 },
    "params.depth": { low: 2, high: 5 },
    "params.state": { low: 0.25, high: 0.5 },
    "params.my rate": { low: 0.1, high: 0.2 },
    value: { low: 0.5, high: 1 },
    "params.optimizer": { choices: ["adam", "a b", true, null, 3] },
  };
  const filter = writeBrushes("state:finished tag:keep", brushes, AXES);
  expect(filter).toBe(
    'state:finished tag:keep lr:0.001..0.02 depth:2..5 params.state:0.25..0.5 "my rate":0.1..0.2 value:0.5..1 optimizer:adam,"a b",true,null,3',
  );
  expect(readBrushes(filter, AXES)).toEqual({ base: "state:finished tag:keep", brushes });
});

test("terms that are not brushes keep their order", () => {
  const filter = 'lr<0.1 -lr:0.1..0.2 top:50 "two words" optimizer:ad* lr:..0.5 #17 word';
  const { base, brushes } = readBrushes(filter, AXES);
  expect(base).toBe('lr<0.1 -lr:0.1..0.2 top:50 "two words" optimizer:ad* #17 word');
  expect(brushes).toEqual({ "params.lr": { low: 1e-5, high: 0.5 } });
});

test("a second range on the same axis stays a term", () => {
  expect(readBrushes("lr:0.1..0.2 lr:0.1..0.3", AXES).base).toBe("lr:0.1..0.3");
});

test("negative bounds and exponents are parsed", () => {
  const axis = numberAxis("params.x", "x", [-5, 5]);
  expect(readBrushes("x:-2.5..1e-1", [axis]).brushes).toEqual({ "params.x": { low: -2.5, high: 0.1 } });
});

test("only ranges are removed from the filter until the axes are known", () => {
  const filter = "state:finished lr:1e-4..0.01 number:10..20 value:0.5..1 lr<0.1 -x:1..2 opt:adam depth:..3";
  expect(withoutRanges(filter)).toBe("state:finished number:10..20 lr<0.1 -x:1..2 opt:adam depth:..3");
});

test("integer axes have integer bounds", () => {
  expect(writeBrushes("", { "params.depth": { low: 1.6, high: 4.4 } }, AXES)).toBe("depth:2..4");
});

describe("the bounds of a range", () => {
  test("are rounded outwards to a few digits", () => {
    expect(roundedEnd(0.0123456789, false)).toBe("0.01234");
    expect(roundedEnd(0.0123456789, true)).toBe("0.01235");
    expect(Number(roundedEnd(-3.21659, false))).toBeLessThanOrEqual(-3.21659);
    expect(roundedEnd(0.5, false)).toBe("0.5");
    expect(roundedEnd(0, true)).toBe("0");
  });
});

test("both bounds are inclusive, and null is outside every range", () => {
  expect([0.1, 0.2, 0.3, null, "0.2"].map(value => isIn({ low: 0.1, high: 0.2 }, value))).toEqual([
    true,
    true,
    false,
    false,
    false,
  ]);
  expect(isIn({ choices: [null] }, null)).toBe(true);
});

test("a row matches only if it is in all brushes", () => {
  const columns = { "params.lr": [0.1, 0.2, 0.3], "params.optimizer": ["adam", "sgd", "adam"] };
  const brushes = { "params.lr": { low: 0.15, high: 1 }, "params.optimizer": { choices: ["adam"] } };
  expect([...rowsIn(columns, brushes, 3)]).toEqual([0, 0, 1]);
});
