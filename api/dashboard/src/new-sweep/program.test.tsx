// The program of a new sweep: its kind, what a change of the kind keeps, and the fields of each kind.
import { render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { updateOf } from "./draft-stub";
import { kindOf, ProgramForm } from "./program";
import { type Draft, type Problem, problemOf } from "./sweep-file-draft";
import type { Document } from "./yaml-values";

function show(document: Document, problems: Problem[] = []) {
  const change = vi.fn<Draft["change"]>(() => Promise.resolve());
  const numbers = {};
  const draft: Draft = {
    ...{ text: "", setText: vi.fn(), completeText: () => Promise.resolve(""), read: undefined, fresh: true },
    ...{ failed: null, change, update: updateOf(change, { document, numbers }), document, numbers },
    problemAt: (path, but) => problemOf(problems, path, but),
  };
  render(<ProgramForm draft={draft} />);
  return change;
}

function wrong(path: string, message: string): Problem {
  return { path: path.split("."), line: 1, column: 1, message };
}

const FUNCTION = { function: "train:objective" };
const HASH = "0123456789abcdef";
const type = (label: string | RegExp, text: string) => userEvent.type(screen.getByLabelText(label), `${text}{Enter}`);
const openMore = () => userEvent.click(screen.getByText("Advanced"));

test.each([
  [{ function: "train:f" }, "function"],
  [{ command: ["python", "train.py"] }, "command"],
  [{ script: "train.py" }, "command"],
  [{ function: "train:f", command: ["x"] }, "function"],
  [{ model: "mlp" }, "builtin"],
  [{}, "builtin"],
  [undefined, "builtin"],
  ["text", "builtin"],
])("the kind of the program %j is %s", (program, kind) => expect(kindOf(program)).toBe(kind));

test("a change of the kind replaces the program by a template", async () => {
  const change = show({ program: { model: "cnn", data: { name: "digits" } } });
  expect(screen.getByLabelText("Program type")).toHaveValue("builtin");
  await userEvent.selectOptions(screen.getByLabelText("Program type"), "Your own function");
  expect(change).toHaveBeenLastCalledWith([{ path: ["program"], value: '{function: "train:objective"}' }]);
});

test("uploaded code is kept when a function becomes a script, not when it becomes a built-in model", async () => {
  const change = show({ program: { ...FUNCTION, bundle: HASH } });
  await userEvent.selectOptions(screen.getByLabelText("Program type"), "Your own script");
  expect(change).toHaveBeenLastCalledWith([
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the service substitutes it
    { path: ["program"], value: '{command: [python, train.py, "${args}"]}' },
    { path: ["program", "bundle"], value: `"${HASH}"` },
  ]);
  await userEvent.selectOptions(screen.getByLabelText("Program type"), "Built-in model");
  expect(change).toHaveBeenLastCalledWith([{ path: ["program"], value: "{model: mlp, data: {name: digits}}" }]);
});

test("a problem of the whole program is at its type only while it has no field to show it", () => {
  show({}, [wrong("program", "is required")]);
  expect(screen.getByLabelText("Program type")).toHaveAttribute("aria-invalid", "true");
  expect(screen.getByText("Is required")).toBeVisible();
});

test("a problem of a key is at the field of the key", () => {
  show({ program: { model: "mpl" } }, [wrong("program.model", "there is no 'mpl'")]);
  expect(screen.getByLabelText("Program type")).not.toHaveAttribute("aria-invalid");
  expect(screen.getByLabelText("Model")).toHaveAttribute("aria-invalid", "true");
  expect(screen.getByLabelText("Model")).toHaveDisplayValue("mpl"); // as written, and not one of the known models
});

test.each([
  ["diabetes", "{name: val_rmse, goal: minimize}"],
  ["mnist", "{name: val_accuracy, goal: maximize}"],
])("the data set %s of a built-in model sets the metric", async (name, metric) => {
  const change = show({ program: { model: "mlp", data: { name: "digits" } } });
  await userEvent.selectOptions(screen.getByLabelText("Data"), name);
  expect(change.mock.lastCall?.[0].at(-1)).toEqual({ path: ["metric"], value: metric });
});

test("a file of one's own does not change the metric: its task is unknown", async () => {
  const change = show({ program: { model: "mlp", data: { name: "digits" } } });
  await userEvent.selectOptions(screen.getByLabelText("Data"), "file");
  expect(change.mock.lastCall?.[0].map(({ path }) => path)).toEqual([["program", "data"]]);
});

test("several objectives are not replaced by the metric of a data set", async () => {
  const change = show({ metrics: [{ name: "val_loss" }], program: { model: "mlp", data: { name: "digits" } } });
  await userEvent.selectOptions(screen.getByLabelText("Data"), "diabetes");
  expect(change.mock.lastCall?.[0].map(({ path }) => path)).toEqual([["program", "data"]]);
});

test("advanced options are counted, and closed until they are wanted", async () => {
  show({ program: { ...FUNCTION, build: "train:build", env: { SEED: "1" } } });
  expect(screen.getByText("2 set")).toBeVisible();
  expect(screen.queryByLabelText("Model builder")).toBeNull();
  await openMore();
  expect(screen.getByLabelText("Model builder")).toHaveValue("train:build");
});

test("without advanced options the section says so", () => {
  show({ program: FUNCTION });
  expect(screen.getByText("default")).toBeVisible();
});

test("a problem of an advanced option opens the section and is at its field", () => {
  show({ program: { ...FUNCTION, preload: "numpy" } }, [wrong("program.preload", "is a list of names")]);
  expect(screen.getByText("invalid")).toBeVisible();
  expect(screen.getByText("Is a list of names")).toBeVisible();
  expect(screen.getByLabelText("Packages to preload")).toHaveAttribute("aria-invalid", "true");
});

test("the argument of the function is inferred unless it is selected", async () => {
  const change = show({ program: { ...FUNCTION, argument: "config" } });
  await openMore();
  await userEvent.selectOptions(screen.getByLabelText("Function argument"), "inferred from its parameter");
  expect(change).toHaveBeenLastCalledWith([{ path: ["program", "argument"], value: null }]);
  await userEvent.selectOptions(screen.getByLabelText("Function argument"), "the trial");
  expect(change).toHaveBeenLastCalledWith([{ path: ["program", "argument"], value: "trial" }]);
});

test("a function that is cleared is removed from the file when the field is left", async () => {
  const change = show({ program: FUNCTION });
  await userEvent.clear(screen.getByLabelText("Function"));
  expect(change).not.toHaveBeenCalled();
  await userEvent.tab();
  expect(change).toHaveBeenLastCalledWith([{ path: ["program", "function"], value: null }]);
});

test("a command is a list, also with characters that YAML would read otherwise", async () => {
  const change = show({ program: { script: "train.py" } });
  await type("Command", "python, -u");
  expect(change).toHaveBeenLastCalledWith([{ path: ["program", "command"], value: "[python, -u]" }]);
});

test("a script has one output pattern for each metric: objectives, the monitored one, and those of the file", () => {
  show({
    metrics: [{ name: "loss" }, { name: "size" }, { name: "" }, {}],
    early_terminate: { type: "median", metric: "loss" },
    program: { command: ["python", "train.py"], metrics: { size: "size=(.*)", epoch: "auto" } },
  });
  const labels = screen.getAllByLabelText(/^Output pattern for/).map(field => field.getAttribute("id"));
  expect(labels).toHaveLength(3);
  expect(screen.getByLabelText("Output pattern for loss")).toHaveValue("");
  expect(screen.getByLabelText("Output pattern for size")).toHaveValue("size=(.*)");
  expect(screen.getByLabelText("Output pattern for epoch")).toHaveValue("auto");
});

test("the rule of early stopping may monitor another metric than the objective", async () => {
  const early_terminate = { type: "median", metric: "val/loss" };
  const change = show({ metric: { name: "acc" }, early_terminate, program: { command: ["python", "train.py"] } });
  await type("Output pattern for val/loss", "auto");
  expect(change).toHaveBeenLastCalledWith([{ path: ["program", "metrics", "val/loss"], value: "auto" }]);
});

test("an environment variable cannot be added twice or without a name", async () => {
  const change = show({ program: { ...FUNCTION, env: { SEED: "1" } } });
  await openMore();
  const add = screen.getByRole("button", { name: /Add a variable/ });
  expect(add).toBeDisabled();
  await userEvent.type(screen.getByLabelText("Name of a variable to add"), "SEED");
  expect(screen.getByText("SEED already exists.")).toBeVisible();
  expect(add).toBeDisabled();
  await userEvent.keyboard("{Enter}");
  expect(change).not.toHaveBeenCalled();
  await userEvent.keyboard("2{Enter}");
  expect(change).toHaveBeenLastCalledWith([{ path: ["program", "env", "SEED2"], value: '"1"' }]);
});

test("a number as the value of a variable stays a text", async () => {
  const change = show({ program: { command: ["x"], env: { SEED: "a" } } });
  await openMore();
  await userEvent.clear(screen.getByLabelText("Environment variable SEED"));
  await type("Environment variable SEED", "7");
  expect(change).toHaveBeenLastCalledWith([{ path: ["program", "env", "SEED"], value: '"7"' }]);
});
