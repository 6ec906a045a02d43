// The objectives of a new sweep: names and goals of built-in and own programs, targets, and how many there are.
import { render, screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { updateOf } from "./draft-stub";
import { objectivePaths } from "./objective-yaml-paths";
import { Objectives } from "./objectives";
import { type Draft, type Problem, problemOf } from "./sweep-file-draft";
import type { Document } from "./yaml-values";

function show(document: Document, problems: Problem[] = [], numbers: Record<string, string> = {}) {
  const change = vi.fn<Draft["change"]>(() => Promise.resolve());
  const draft: Draft = {
    ...{ text: "", setText: vi.fn(), completeText: () => Promise.resolve(""), read: undefined, fresh: true },
    ...{ failed: null, change, update: updateOf(change, { document, numbers }), document, numbers },
    problemAt: (path, but) => problemOf(problems, path, but),
  };
  render(<Objectives draft={draft} />);
  return change;
}

function wrong(path: string, message: string): Problem {
  return { path: path.split("."), line: 1, column: 1, message };
}

const BUILTIN = { model: "mlp" };
const FUNCTION = { function: "train:objective" };
const add = () => userEvent.click(screen.getByRole("button", { name: "Add an objective" }));
const named = (...names: string[]) => names.map(name => ({ name, goal: "minimize" }));

test.each([
  [{ metric: { name: "loss" } }, [["metric"]]],
  [{}, [["metric"]]],
  [{ metrics: [] }, [["metric"]]],
  [{ metrics: "loss" }, [["metric"]]],
  [
    { metrics: named("a", "b") },
    [
      ["metrics", "0"],
      ["metrics", "1"],
    ],
  ],
])("the paths of the objectives of %j", (document, paths) => expect(objectivePaths(document)).toEqual(paths));

test("a metric of a built-in model has its goal with it", async () => {
  const change = show({ metric: { name: "val_accuracy", goal: "maximize" }, program: BUILTIN });
  expect(screen.getByLabelText("Metric")).toHaveDisplayValue("val_accuracy, higher is better");
  expect(screen.queryByLabelText("Goal")).toBeNull();
  await userEvent.selectOptions(screen.getByLabelText("Metric"), "val_rmse");
  expect(change).toHaveBeenLastCalledWith([{ path: ["metric"], value: "{name: val_rmse, goal: minimize}" }]);
});

test("a metric that built-in models do not have is shown as written", () => {
  show({ metric: { name: "f1" }, program: BUILTIN }, [wrong("metric.name", "there is no 'f1'")]);
  const field = screen.getByLabelText("Metric");
  expect(field).toHaveDisplayValue("f1");
  expect(field).toHaveAttribute("aria-invalid", "true");
  expect(screen.getByText("name: there is no 'f1'")).toBeVisible();
});

test("without a metric the user is asked to choose one", () => {
  show({ program: BUILTIN });
  expect(screen.getByLabelText("Metric")).toHaveDisplayValue("choose");
});

test("a problem of the target is at the target, not at the metric", () => {
  const metric = { name: "val_accuracy", goal: "maximize", target: 90 };
  show({ metric, program: BUILTIN }, [wrong("metric.target", "is at most 1")], { "/metric/target": "9e1" });
  expect(screen.getByLabelText("Metric")).not.toHaveAttribute("aria-invalid");
  expect(screen.getByLabelText("Target")).toHaveAttribute("aria-invalid", "true");
  expect(screen.getByLabelText("Target")).toHaveValue("9e1"); // as written
  expect(screen.getByText("Is at most 1")).toBeVisible();
});

test("the value of a trial has a default that is not written to the file", async () => {
  const change = show({ metric: { name: "loss", goal: "minimize" }, objective: "min", program: FUNCTION });
  const field = screen.getByLabelText("Value of a trial");
  expect(field).toHaveDisplayValue("smallest reported value");
  await userEvent.selectOptions(field, "last reported value");
  expect(change).toHaveBeenLastCalledWith([{ path: ["objective"], value: null }]);
});

test("a program of one's own has a free name and a goal", async () => {
  const change = show({ metric: { name: "loss" }, program: { script: "train.py" } });
  expect(screen.getByLabelText("Goal")).toHaveDisplayValue("choose");
  await userEvent.selectOptions(screen.getByLabelText("Goal"), "lower is better");
  expect(change).toHaveBeenLastCalledWith([{ path: ["metric", "goal"], value: "minimize" }]);
  await userEvent.clear(screen.getByLabelText("Metric"));
  await userEvent.type(screen.getByLabelText("Metric"), "val/loss: 1{Enter}");
  expect(change).toHaveBeenLastCalledWith([{ path: ["metric", "name"], value: '"val/loss: 1"' }]);
});

test("only the first of several objectives has a target and the value of a trial", () => {
  show({ metrics: named("a", "b", "c"), program: FUNCTION });
  expect(screen.getAllByLabelText("Metric")).toHaveLength(3);
  expect(screen.getAllByLabelText("Target")).toHaveLength(1);
  expect(screen.getAllByLabelText("Value of a trial")).toHaveLength(1);
});

test("a target of another objective, as in a file from elsewhere, can be seen and removed", async () => {
  const metrics = [...named("a"), { name: "b", goal: "minimize", target: 3 }];
  const change = show({ metrics, program: FUNCTION }, [wrong("metrics.1.target", "only the first may have one")]);
  const second = within(screen.getAllByRole("group")[1] as HTMLElement);
  expect(second.getByLabelText("Target")).toHaveValue("3");
  expect(second.getByText("Only the first may have one")).toBeVisible();
  await userEvent.clear(second.getByLabelText("Target"));
  await userEvent.tab();
  expect(change).toHaveBeenLastCalledWith([{ path: ["metrics", "1", "target"], value: null }]);
});

test("a built-in model gets the first metric that is not used yet", async () => {
  const change = show({ metrics: [{ name: "val_loss" }, { name: "val_accuracy" }], program: BUILTIN });
  await add();
  expect(change).toHaveBeenLastCalledWith([{ path: ["metrics", "2"], value: "{name: val_mae, goal: minimize}" }]);
});

test("the second objective of a file without the first keeps a place for it", async () => {
  const change = show({ program: FUNCTION });
  await add();
  expect(change).toHaveBeenLastCalledWith([
    { path: ["metric"], value: null },
    { path: ["metrics"], value: "[{}, {name: size, goal: minimize}]" },
  ]);
});

test("one of three objectives is removed by its place", async () => {
  const change = show({ metrics: named("a", "b", "c"), program: FUNCTION });
  await userEvent.click(screen.getByRole("button", { name: "Remove objective 2" }));
  expect(change).toHaveBeenLastCalledWith([{ path: ["metrics", "1"], value: null }]);
});

test("the objective that is left keeps its target as written", async () => {
  const metrics = [{ name: "a", goal: "minimize", target: 0.01 }, ...named("b")];
  const change = show({ metrics, program: FUNCTION }, [], { "/metrics/0/target": "1e-2" });
  await userEvent.click(screen.getByRole("button", { name: "Remove objective 2" }));
  expect(change).toHaveBeenLastCalledWith([
    { path: ["metrics"], value: null },
    { path: ["metric"], value: "{name: a, goal: minimize, target: 1e-2}" },
  ]);
});

test("a list of one objective cannot become empty, and shows the problem of the list", () => {
  show({ metrics: named("a"), program: FUNCTION }, [wrong("metrics", "needs two objectives")]);
  expect(screen.queryByRole("button", { name: /^Remove objective/ })).toBeNull();
  expect(screen.getAllByText("Needs two objectives")).toHaveLength(1);
});

test("`metric` in addition to `metrics` is reported below the list", () => {
  const document = { metric: { name: "loss" }, metrics: named("a", "b"), program: FUNCTION };
  show(document, [wrong("metric", "cannot be combined with metrics")]);
  expect(screen.getByText("Cannot be combined with metrics")).toBeVisible();
});

test("the eighth objective is the last", () => {
  show({ metrics: named("a", "b", "c", "d", "e", "f", "g", "h"), program: FUNCTION });
  expect(screen.getAllByRole("group")).toHaveLength(8);
  expect(screen.queryByRole("button", { name: "Add an objective" })).toBeNull();
});
