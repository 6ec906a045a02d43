// Trials without a result: their last reports, counts, and what ranks compare.
import { pointsOf } from "./fixture";
import { countUnfinished, finishedOf, onlyFinished, withReports } from "./unfinished";

const POINTS = pointsOf({
  value: [1, null, null, null],
  reported: [null, 2, 3, null],
  state: ["finished", "pruned", "failed", "failed"],
  "last(x)": [5, 6, 7, null],
});

test("the last report replaces a missing value", () => {
  expect(withReports(POINTS).columns.value).toEqual([1, 2, 3, null]);
  const none = pointsOf({ value: [1], reported: [null] });
  expect(withReports(none)).toBe(none);
});

test("figures of unfinished trials can be left out", () => {
  expect(onlyFinished(POINTS).columns["last(x)"]).toEqual([5, null, null, null]);
  expect(finishedOf(POINTS, "last(x)")).toEqual([5, null, null, null]);
});

test("those that are drawn, and those without any value, are counted", () => {
  const inside = Uint8Array.of(1, 1, 1, 1);
  expect(countUnfinished(withReports(POINTS), "value", inside)).toEqual({ failed: 1, others: 1, missing: 1 });
  expect(countUnfinished(withReports(POINTS), "value", Uint8Array.of(1, 0, 0, 1))).toEqual({
    failed: 0,
    others: 0,
    missing: 1,
  });
});
