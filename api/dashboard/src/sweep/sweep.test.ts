// Facts about a sweep: its counts, its budget, the commands it accepts, its duration.
import { sweepFixture } from "./fixture";
import { budgetLines, can, countedOf, countsText, durationS, formatEstimate, ruleOf } from "./sweep";

const NONE = { used: 0, allowed: null };

test("counts are listed in order of interest", () => {
  expect(countsText(sweepFixture())).toBe("2 running, 10 finished, 2 pruned, 1 failed");
  expect(countsText(sweepFixture({ counts: {} }))).toBe("no trials yet");
  expect(countedOf(sweepFixture())).toBe(12);
});

test("each limit of the budget shows what is left", () => {
  const budget = {
    wall_s: { used: 60, allowed: 3600 },
    device_s: NONE,
    plateau: { used: 3, allowed: 4, min_delta: 0 },
    target: { value: 0.99, reached_by: null },
  };
  const lines = budgetLines(sweepFixture({ budget }));
  expect(lines.map(line => `${line.name}: ${line.left}`)).toEqual([
    "time: 59 min left",
    "plateau: 1 trial left",
    "target 0.99: not reached",
  ]);
  expect(budgetLines(sweepFixture())).toEqual([]);
});

test("commands depend on the state of the sweep", () => {
  const possible = (state: string) =>
    (["pause", "resume", "stop", "cancel", "extend"] as const).filter(command => can(command, sweepFixture({ state })));
  expect(possible("running")).toEqual(["pause", "stop", "cancel", "extend"]);
  expect(possible("paused")).toEqual(["resume", "stop", "cancel", "extend"]);
  expect(possible("finished")).toEqual(["extend"]);
  expect(possible("cancelled")).toEqual([]);
  expect(can("extend", sweepFixture({ state: "finished", spec: { program: { imported: "study.db" } } }))).toBe(false);
});

test("an estimate is rounded", () => {
  expect([3, 12, 61, 2691, 8000].map(formatEstimate)).toEqual(["5 s", "10 s", "1 min", "45 min", "2 h 10 min"]);
});

test("the duration of a finished sweep ends with the sweep", () => {
  expect(durationS(sweepFixture({ ended_at: "2026-01-02T03:05:06Z" }))).toBe(60);
  expect(durationS(sweepFixture({ started_at: null }))).toBeNull();
});

test.each([
  ["last", "maximize", "by last value"],
  ["max", "maximize", ""],
  ["min", "minimize", ""],
  ["min", "maximize", "by lowest value"],
  ["max", "minimize", "by highest value"],
] as const)("the rule %s with the goal %s is shown as: %s", (value_rule, goal, text) => {
  const spec = { metric: { name: "loss", goal } };
  expect(ruleOf(sweepFixture({ value_rule, spec }))).toBe(text);
});
