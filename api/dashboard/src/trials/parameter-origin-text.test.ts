// What chose the parameters of a trial, as text.
import { type Choice, samplerNote, samplerText } from "./parameter-origin-text";

const choice = (fields: Partial<Choice>): Choice => ({
  ...{ sampler: "random", fallback_reason: null, fallback_error: null, proposed_for: null },
  ...fields,
});

test("a sampler that proposed in time has no note", () => {
  expect(samplerText(choice({ sampler: "gp" }))).toBe("gp");
  expect(samplerNote(choice({ sampler: "gp" }))).toBeUndefined();
});

test("a late proposal names the trial that it was for", () => {
  expect(samplerText(choice({ sampler: "gp", proposed_for: 0 }))).toBe("gp, proposed for trial 0");
});

test.each([
  ["slow", null, "random, because the method had proposed nothing by the deadline"],
  ["failed", "ValueError: no", "random, because the method failed: ValueError: no"],
  ["process_ended", null, "random, because the process of the method ended too often"],
  ["many_trials", null, "tpe, because the sweep has more trials than its method supports"],
  ["of a newer service", null, "random, because of a newer service"],
] as const)("a fallback has a reason: %s", (fallback_reason, fallback_error, text) => {
  const sampler = text.split(",")[0];
  expect(samplerText(choice({ sampler, fallback_reason, fallback_error } as Partial<Choice>))).toBe(text);
});
