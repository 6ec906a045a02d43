// Differences between parameters in words.
import { expect, test } from "vitest";
import { difference, isLog, parametersOf } from "./parameter-difference";

test("numbers differ by a factor on a log scale and by an amount on others", () => {
  expect(difference(0.06, 0.006, true)).toEqual({ kind: "more", text: "×10" });
  expect(difference(0.003, 0.006, true)).toEqual({ kind: "less", text: "×0.5" });
  expect(difference(0.5, 0.25, false)).toEqual({ kind: "more", text: "+0.25" });
  expect(difference(32, 128, false)).toEqual({ kind: "less", text: "−96" });
  expect(difference(-1, 2, true)).toEqual({ kind: "less", text: "−3" });
  expect(difference(0.10000001, 0.1, true)).toEqual({ kind: "same", text: "almost equal" });
});

test("strings, equal values and missing values are described", () => {
  expect(difference("adam", "sgd", false)).toEqual({ kind: "other", text: "differs" });
  expect(difference("adam", "adam", false).kind).toBe("same");
  expect(difference(null, null, false).kind).toBe("same");
  expect(difference(undefined, 1, false)).toEqual({ kind: "missing", text: "–" });
});

test("log scales are read from the parameters of the sweep file", () => {
  const spec = { parameters: { lr: { min: 1e-4, max: 0.1, log: true }, drop: { min: 0, max: 0.5 } } };
  expect(isLog(parametersOf(spec).lr)).toBe(true);
  expect(isLog(parametersOf(spec).drop)).toBe(false);
  expect(isLog({ distribution: "q_log_uniform_values" })).toBe(true);
  expect(parametersOf({})).toEqual({});
  expect(parametersOf(undefined)).toEqual({});
});
