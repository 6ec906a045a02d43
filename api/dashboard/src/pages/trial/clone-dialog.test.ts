// The fields of a clone: typed values, hints, and refusals of the service.
import { expect, test } from "vitest";
import { ApiError } from "../../api";
import { hintOf, parseValue, problemsOf } from "./clone-dialog";

test("typed values have the type of the trial's own value", () => {
  expect(parseValue(" 1e-3 ", 0.5)).toBe(0.001);
  expect(parseValue("fast", 0.5)).toBe("fast");
  expect(parseValue("", 3)).toBe("");
  expect(parseValue("false", true)).toBe(false);
  expect(parseValue("null", null)).toBe(null);
  expect(parseValue("12", "a word")).toBe("12");
});

test("ranges are shown as hints", () => {
  expect(hintOf({ min: 1e-4, max: 0.1, log: true })).toBe("1e−4 to 0.1, log scale");
  expect(hintOf({ values: [1, 2] })).toBe("");
});

test("a refusal is shown at its parameter, others above all fields", () => {
  const errors = [{ location: ["params", "lr"], message: "0.5 is above max 0.1" }];
  expect(problemsOf(new ApiError(422, "all of it", { errors }), ["lr", "width"])).toEqual({
    lr: "0.5 is above max 0.1",
  });
  expect(problemsOf(new ApiError(409, "trials of a cancelled sweep cannot be cloned"), ["lr"])).toEqual({
    "": "trials of a cancelled sweep cannot be cloned",
  });
});
