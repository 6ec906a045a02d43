// The comparison: line diff, joined columns, and lines of the best value.
import { sweepFixture } from "../../sweep/fixture";
import { axesOf, stepsOf } from "./best-so-far-histories";
import { codeText } from "./configuration-diff";
import { columnsOf, differing, sortedBy } from "./joined-columns";
import { countChanges, lineDiff } from "./line-diff";
import type { History, JoinedTrial } from "./queries";

function trial(id: number, params: JoinedTrial["params"], metrics: Record<string, number> = {}): JoinedTrial {
  return {
    ...{ id, sweep_id: 1, sweep_name: "s", number: id, state: "finished", values: { loss: id }, duration_s: 1 },
    ...{ params, metrics, device: null, cause: null },
  };
}

test("a diff has line numbers of both files and folds long equal parts", () => {
  const left = ["a", ...Array.from({ length: 20 }, (_, at) => `same ${at}`), "b"].join("\n");
  const lines = lineDiff(left, left.replace("a\n", "x\ny\n"));
  expect(countChanges(lines)).toEqual({ added: 2, removed: 1 });
  expect(lines[0]).toEqual({ kind: "removed", text: "a", left: 1, right: null });
  expect(lines[2]).toEqual({ kind: "added", text: "y", left: null, right: 2 });
  expect(lines[3]).toEqual({ kind: "same", text: "same 0", left: 2, right: 3 });
  expect(lines.at(-1)).toEqual({ kind: "folded", lines: 18 });
});

test("equal and empty files have no changes, also without a last line break", () => {
  expect(countChanges(lineDiff("a\nb", "a\nb\n"))).toEqual({ added: 0, removed: 0 });
  expect(lineDiff("", "")).toEqual([]);
  expect(countChanges(lineDiff("", "a"))).toEqual({ added: 1, removed: 0 });
});

test("columns are the union, and missing differs from null and zero", () => {
  const trials = [trial(1, { lr: 0, act: null }), trial(2, { width: 3 }, { acc: 0.5 })];
  const columns = columnsOf(trials);
  expect(columns.map(column => column.key)).toEqual([
    ...["values.loss", "params.lr", "params.act", "params.width", "metrics.acc"],
  ]);
  const of = (key: string) => trials.map(each => columns.find(column => column.key === key)?.of(each));
  expect(of("params.lr")).toEqual([0, undefined]);
  expect(of("params.act")).toEqual([null, undefined]);
  expect(differing(columns, trials)).toHaveLength(5);
  expect(differing(columnsOf([trials[0] as JoinedTrial]), [trials[0] as JoinedTrial])).toEqual([]);
});

test("missing values come last in both directions", () => {
  const trials = [trial(1, {}), trial(2, { lr: 0.1 }), trial(3, { lr: 0.01 })];
  const ids = (sort: string) => sortedBy(trials, columnsOf(trials), sort).map(each => each.id);
  expect(ids("params.lr")).toEqual([3, 2, 1]);
  expect(ids("-params.lr")).toEqual([2, 3, 1]);
  expect(ids("")).toEqual([1, 2, 3]);
});

test("the best value is a line of steps that lasts until the end of the sweep", () => {
  const history: History = {
    ...{ sweep_id: 1, name: "s", state: "finished", metric: "acc", goal: "maximize", value_rule: "max" },
    improvements: [
      { trial_id: 1, number: 0, time_s: 2, value: 0.5 },
      { trial_id: 3, number: 2, time_s: 6, value: 0.7 },
    ],
    ...{ trials: 5, last_number: 9, last_s: 20 },
  };
  expect(stepsOf(history, "number")).toEqual([
    ...[
      [0, 0.5],
      [2, 0.5],
      [2, 0.7],
    ],
    [9, 0.7],
  ]);
  expect(stepsOf(history, "time").at(-1)).toEqual([20, 0.7]);
  expect(stepsOf({ ...history, improvements: [], last_number: -1 }, "number")).toEqual([]);
});

test("unknown facts about the code are shown as unknown", () => {
  expect(codeText(sweepFixture())).toContain("git commit: unknown\nuncommitted changes: unknown\n");
});

test("best values that span decades have a logarithmic axis", () => {
  const line = (...values: number[]): [number, number][][] => [values.map((value, at) => [at, value])];
  const isLog = (...values: number[]) => axesOf(line(...values), "loss", "minimize", "number").y.log;
  expect(isLog(10, 0.1, 1e-5, 1e-6)).toBe(true);
  expect(isLog(0.9, 0.8, 0.7)).toBe(false);
  expect(isLog(10, 0.1, 0)).toBe(false);
});
