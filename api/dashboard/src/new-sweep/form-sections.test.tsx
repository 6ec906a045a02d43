// Further sections of the form: several objectives, conditions, seed configurations, warm start, stop conditions.
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { updateOf } from "./draft-stub";
import { SweepForm } from "./form";
import { type Draft, type Problem, problemOf } from "./sweep-file-draft";
import type { Document } from "./yaml-values";

const FUNCTION = { function: "train:objective" };
const BUILTIN = { model: "mlp", data: { name: "digits" } };
const METRIC = { name: "val_accuracy", goal: "maximize", target: 0.9 };
const SCHEMA = {
  properties: {
    early_terminate: {
      properties: {
        type: {
          enum: ["median", "patient", "cautious", "none"],
          enumDescriptions: ["below the median", "no improvement", "a new rule", "every trial runs to completion"],
        },
        patience: { type: "integer" },
        min_iter: { type: "integer" },
        min_trials: { type: "integer" },
      },
    },
    resources: { properties: { threads: { type: "integer" } } },
    budget: { properties: { wall_s: { type: "number" } } },
  },
};
const SWEEP = {
  id: 7,
  name: "earlier",
  state: "finished",
  counts: { finished: 24 },
  spec: { metric: { name: "val_accuracy", goal: "maximize" } },
};
const READ = { document: {}, numbers: {}, wandb: false, problems: [], notes: [], samples: [], plan: null };

function show(document: Document, problems: Problem[] = [], numbers: Record<string, string> = {}) {
  const change = vi.fn<Draft["change"]>(() => Promise.resolve());
  const draft: Draft = {
    text: "name: small",
    setText: vi.fn(),
    change,
    update: updateOf(change, { document, numbers }),
    completeText: () => Promise.resolve(""),
    read: READ,
    fresh: true,
    failed: null,
    document,
    numbers,
    problemAt: (path, but) => problemOf(problems, path, but),
  };
  globalThis.fetch = vi.fn(async request => {
    const url = String(request instanceof Request ? request.url : request);
    if (url.endsWith("/3")) return new Response("{}", { status: 404 });
    if (url.endsWith("/projects")) return Response.json([{ name: "vision" }]);
    const answer = url.includes("/schemas/") ? SCHEMA : url.endsWith("/7") ? SWEEP : { items: [SWEEP], next: null };
    return new Response(JSON.stringify(answer), { headers: { "content-type": "application/json" } });
  });
  render(
    <QueryClientProvider client={new QueryClient()}>
      <SweepForm draft={draft} />
    </QueryClientProvider>,
  );
  return change;
}

function wrong(path: string, message: string): Problem {
  return { path: path.split("."), line: 1, column: 1, message };
}

async function type(label: string, text: string) {
  const field = screen.getByLabelText(label);
  await userEvent.clear(field);
  await userEvent.type(field, `${text}{Enter}`);
}

test("adding a second objective keeps the first one with its target", async () => {
  const change = show({ metric: METRIC, program: BUILTIN }, [], { "/metric/target": "9e-1" });
  await userEvent.click(screen.getByRole("button", { name: "Add an objective" }));
  expect(change).toHaveBeenLastCalledWith([
    { path: ["metric"], value: null },
    {
      path: ["metrics"],
      value: "[{name: val_accuracy, goal: maximize, target: 9e-1}, {name: val_loss, goal: minimize}]",
    },
  ]);
});

test("several objectives have their own fields and problems, and a single one becomes `metric` again", async () => {
  const metrics = [
    { name: "accuracy", goal: "maximize" },
    { name: "size", goal: "minimize" },
  ];
  const change = show({ metrics, program: FUNCTION }, [wrong("metrics.1.name", "'size' is there twice")]);
  expect(screen.getByText("'size' is there twice")).toBeTruthy();
  const [, second] = screen.getAllByLabelText("Metric");
  expect(second?.getAttribute("aria-invalid")).toBe("true");
  expect(screen.getAllByLabelText("Target")).toHaveLength(1);
  await userEvent.selectOptions(screen.getAllByLabelText("Goal")[1] as HTMLElement, "maximize");
  expect(change).toHaveBeenLastCalledWith([{ path: ["metrics", "1", "goal"], value: "maximize" }]);
  await userEvent.click(screen.getByRole("button", { name: "Remove objective 1" }));
  expect(change).toHaveBeenLastCalledWith([
    { path: ["metrics"], value: null },
    { path: ["metric"], value: "{name: size, goal: minimize}" },
  ]);
  await userEvent.click(screen.getByRole("button", { name: "Add an objective" }));
  expect(change).toHaveBeenLastCalledWith([{ path: ["metrics", "2"], value: "{name: size, goal: minimize}" }]);
});

const CONDITIONAL = {
  parameters: {
    lr: { min: 0.1, max: 1, log: true },
    optimizer: { values: ["adam", "sgd", "rmsprop"] },
    momentum: { min: 0, max: 0.9, when: { optimizer: "sgd" } },
  },
  program: FUNCTION,
};

test("a new condition starts with a parameter that has a list of values", async () => {
  const change = show(CONDITIONAL);
  await userEvent.click(screen.getByRole("button", { name: "Add a condition to lr" }));
  expect(change).toHaveBeenLastCalledWith([{ path: ["parameters", "lr", "when", "optimizer"], value: "adam" }]);
});

test("a condition is edited by its values and its parameter, and shows its problem", async () => {
  const change = show(CONDITIONAL, [wrong("parameters.momentum.when", "optimizer: 'sgd' is not among them")]);
  const when = ["parameters", "momentum", "when"];
  expect(screen.getAllByText(/is not among them/)).toHaveLength(1);
  expect((screen.getByLabelText("sgd") as HTMLInputElement).checked).toBe(true);
  await userEvent.click(screen.getByLabelText("rmsprop"));
  expect(change).toHaveBeenLastCalledWith([{ path: [...when, "optimizer"], value: "[sgd,rmsprop]" }]);
  change.mockClear();
  await userEvent.click(screen.getByLabelText("sgd"));
  expect(change).not.toHaveBeenCalled(); // the last value stays: a condition without values never holds
  await userEvent.selectOptions(screen.getByLabelText("momentum depends on"), "lr");
  expect(change).toHaveBeenLastCalledWith([
    { path: [...when, "optimizer"], value: null },
    { path: [...when, "lr"], value: "0.1" },
  ]);
  await userEvent.click(screen.getByRole("button", { name: "Remove the condition on optimizer" }));
  expect(change).toHaveBeenLastCalledWith([{ path: [...when, "optimizer"], value: null }]);
});

test("a parameter keeps its condition when its type changes, and distributions have their own fields", async () => {
  const change = show({ ...CONDITIONAL, parameters: { ...CONDITIONAL.parameters, w: { distribution: "normal" } } });
  await userEvent.selectOptions(screen.getByLabelText("Type of momentum"), "beta");
  const value = "{distribution: beta, a: 2.0, b: 5.0, when: {optimizer: sgd}}";
  expect(change).toHaveBeenLastCalledWith([{ path: ["parameters", "momentum"], value }]);
  await type("Standard deviation of w", "1e-2");
  expect(change).toHaveBeenLastCalledWith([{ path: ["parameters", "w", "sigma"], value: "1e-2" }]);
});

test("seed configurations are rows, each with its own problems", async () => {
  const enqueue = [{ lr: 0.5 }, {}];
  const change = show({ ...CONDITIONAL, enqueue }, [wrong("enqueue.0.lr", "0.5 is not within 1 and 2")]);
  expect(await screen.findByText("lr: 0.5 is not within 1 and 2")).toBeTruthy(); // open because it has a problem
  expect(screen.getByLabelText("lr of configuration 1").getAttribute("aria-invalid")).toBe("true");
  await type("optimizer of configuration 2", "sgd");
  expect(change).toHaveBeenLastCalledWith([{ path: ["enqueue", "1", "optimizer"], value: "sgd" }]);
  await userEvent.click(screen.getByRole("button", { name: "Remove configuration 1" }));
  expect(change).toHaveBeenLastCalledWith([{ path: ["enqueue", "0"], value: null }]);
  await userEvent.click(screen.getByRole("button", { name: "Add a configuration" }));
  expect(change).toHaveBeenLastCalledWith([{ path: ["enqueue", "2"], value: "{}" }]);
});

test("earlier sweeps are selected by name", async () => {
  const change = show({ ...CONDITIONAL, warm_start: [3] });
  await userEvent.click(await screen.findByText("Warm start"));
  await userEvent.click(await screen.findByLabelText(/earlier.*24 trials · finished · maximize val_accuracy/));
  expect(change).toHaveBeenLastCalledWith([{ path: ["warm_start"], value: "[3, 7]" }]);
  await userEvent.click(screen.getByLabelText(/unknown.*sweep 3/));
  expect(change).toHaveBeenLastCalledWith([{ path: ["warm_start"], value: null }]);
});

test("sweeps that must finish first are named by id or name", async () => {
  const wait = { after: [3, "coarse"], fix_from: { sweep: "coarse", parameters: ["lr"] } };
  const change = show({ ...CONDITIONAL, ...wait }, [wrong("fix_from.sweep", "no sweep is named 'coarse'")]);
  expect(await screen.findByText("No sweep is named 'coarse'")).toBeTruthy(); // open because it has a problem
  await type("After", "3, fine");
  expect(change).toHaveBeenLastCalledWith([{ path: ["after"], value: "[3, fine]" }]);
  await type("Fix parameters from sweep", "12");
  expect(change).toHaveBeenLastCalledWith([{ path: ["fix_from", "sweep"], value: "12" }]);
  await type("Fixed parameters", "lr, hidden");
  expect(change).toHaveBeenLastCalledWith([{ path: ["fix_from", "parameters"], value: "[lr, hidden]" }]);
});

test("priority and minimum improvement are in their blocks, and a section with a problem is open", async () => {
  const change = show({ program: FUNCTION }, [wrong("priority", "is at most 100, not 1000")]);
  expect(await screen.findByText("Is at most 100, not 1000")).toBeTruthy();
  await type("Priority", "2");
  expect(change).toHaveBeenLastCalledWith([{ path: ["priority"], value: "2" }]);
  await userEvent.click(screen.getByText("Budget"));
  await type("Minimum improvement", "1e-4");
  expect(change).toHaveBeenLastCalledWith([{ path: ["budget", "plateau", "min_delta"], value: "1e-4" }]);
});

test("the patient rule can wrap another rule", async () => {
  const early_terminate = { type: "patient", patience: 3, wrap: { type: "median" } };
  const change = show({ program: FUNCTION, early_terminate }, [wrong("early_terminate.wrap", "needs more")]);
  expect(await screen.findByText("Needs more")).toBeTruthy();
  await type("Minimum trials", "9");
  expect(change).toHaveBeenLastCalledWith([{ path: ["early_terminate", "wrap", "min_trials"], value: "9" }]);
  await userEvent.selectOptions(screen.getByLabelText("Wrapped rule"), "");
  expect(change).toHaveBeenLastCalledWith([{ path: ["early_terminate", "wrap"], value: null }]);
});

test("the early stopping rules are those of the schema, and a new one has every field", async () => {
  const user = userEvent.setup();
  const change = show({ program: FUNCTION, early_terminate: { type: "cautious" } });
  await user.click(await screen.findByText("Early stopping"));
  const field = screen.getByLabelText<HTMLSelectElement>("Rule");
  expect([...field.options].map(option => option.text)).toEqual([
    "median: below the median",
    "patient: no improvement",
    "cautious: a new rule",
    "none: every trial runs to completion",
  ]);
  for (const label of ["Patience", "Minimum step", "Minimum trials"])
    expect(screen.getByLabelText(label)).toBeInTheDocument();
  await user.selectOptions(field, "median");
  expect(change).toHaveBeenLastCalledWith([{ path: ["early_terminate"], value: "{type: median}" }]);
  await user.selectOptions(field, "none");
  expect(change).toHaveBeenLastCalledWith([{ path: ["early_terminate"], value: null }]);
});

test("a function program has fields for data, preloaded packages and environment", async () => {
  const change = show({ program: { ...FUNCTION, data: { idx: "/data/images" } } });
  await userEvent.click(screen.getAllByText("Advanced")[0] as HTMLElement);
  await userEvent.selectOptions(screen.getByLabelText("Task"), "regression");
  expect(change).toHaveBeenLastCalledWith([{ path: ["program", "data", "task"], value: "regression" }]);
  await userEvent.selectOptions(screen.getByLabelText("Data"), "");
  expect(change).toHaveBeenLastCalledWith([{ path: ["program", "data"], value: null }]);
  await type("Packages to preload", "numpy, torch");
  expect(change).toHaveBeenLastCalledWith([{ path: ["program", "preload"], value: "[numpy, torch]" }]);
  await userEvent.type(screen.getByLabelText("Name of a variable to add"), "MODE{Enter}");
  expect(change).toHaveBeenLastCalledWith([{ path: ["program", "env", "MODE"], value: '"1"' }]);
});

test("a script has an output pattern for each objective, and an environment", async () => {
  const metrics = [
    { name: "loss", goal: "minimize" },
    { name: "size", goal: "minimize" },
  ];
  const change = show({ metrics, program: { command: ["python", "train.py"], env: { SEED: "1" } } });
  await type("Output pattern for size", "size=(\\d+)");
  expect(change).toHaveBeenLastCalledWith([{ path: ["program", "metrics", "size"], value: '"size=(\\\\d+)"' }]);
  await userEvent.click(screen.getAllByText("Advanced")[0] as HTMLElement);
  await type("Environment variable SEED", "2");
  expect(change).toHaveBeenLastCalledWith([{ path: ["program", "env", "SEED"], value: '"2"' }]);
  await userEvent.type(screen.getByLabelText("Name of a variable to add"), "MODE{Enter}");
  expect(change).toHaveBeenLastCalledWith([{ path: ["program", "env", "MODE"], value: '"1"' }]);
});

test("the stop condition and the value of a trial have fields", async () => {
  const user = userEvent.setup();
  const change = show({ name: "small", metric: METRIC, program: FUNCTION, stop: { metric: "step" } });
  await user.selectOptions(screen.getByRole("combobox", { name: /Value of a trial/ }), "best");
  expect(change).toHaveBeenLastCalledWith([{ path: ["objective"], value: "best" }]);
  await user.click(await screen.findByText("Trial limits"));
  expect(screen.getByLabelText(/Stop metric/)).toHaveValue("step");
  await user.type(screen.getByLabelText(/Stop threshold/), "200{Enter}");
  expect(change).toHaveBeenLastCalledWith([{ path: ["stop", "at"], value: "200" }]);
});

test("several stop conditions are edited in the text only", async () => {
  const user = userEvent.setup();
  show({ name: "small", metric: METRIC, program: FUNCTION, stop: { acc: 0.9, training_iteration: 5 } });
  await user.click(await screen.findByText("Trial limits"));
  expect(await screen.findByText("Edit the stop conditions in the sweep file.")).toBeInTheDocument();
});
