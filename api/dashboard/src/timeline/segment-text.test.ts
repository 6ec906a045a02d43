// Bars, gaps and reasons in words.
import { barFixture, gapFixture } from "./fixture";
import { barTitle, reasonText, spanText } from "./segment-text";

test("bars and gaps are described in words", () => {
  const merged = { attempts: 50, failed: 2, busy: 8, trialId: null, number: 0, lastNumber: 49 };
  const joined = barFixture(100, 110, merged);
  const running = barFixture(120, 140, { isRunning: true, state: "running", number: 50 });
  expect(barTitle(joined, { 1: "resnet" })).toBe("50 short trials of resnet (0 to 49), 2 failed");
  expect(barTitle(running, {})).toBe("Trial 50 of sweep 1: running");
  expect(spanText(joined)).toMatch(/, 8.0 s of trials in 10 s$/);
  expect(spanText(running)).toMatch(/^since .*, 20 s so far$/);
  expect(spanText(gapFixture(0, 30))).toMatch(/, 30 s$/);
  expect(spanText(gapFixture(0, 30, { gaps: 1200 }))).toMatch(/, 30 s: 1,200 short gaps, mainly for this reason$/);
  expect(reasonText({ why: "idle", reason: "sweep 1 is paused" })).toBe("Sweep 1 is paused");
  expect(reasonText({ why: "between", reason: "" })).toBe("Between two trials");
});
