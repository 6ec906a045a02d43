// The form of a new sweep: fields read from the file, changes written to it, and uploads.
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { render, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { pathInFolder } from "./code-upload";
import { updateOf } from "./draft-stub";
import { SweepForm } from "./form";
import { shapeOf } from "./parameters";
import { blockSpec, labelOf } from "./schema";
import { type Draft, problemOf } from "./sweep-file-draft";
import { quoted, shownAt, typedYaml } from "./yaml-values";
import { crc32, zipOf } from "./zip";

const DOCUMENT = {
  name: "small",
  metric: { name: "val_accuracy", goal: "maximize" },
  parameters: { lr: { min: 0.001, max: 1, log: true }, "a/b": { values: ["adam", "64", 2] } },
  program: { model: "mlp", data: { name: "digits" } },
};
const NUMBERS = { "/parameters/lr/min": "1e-3", "/parameters/lr/max": "1.0", "/parameters/a~1b/values/2": "2" };
const READ = { document: {}, numbers: {}, wandb: false, problems: [], notes: [], samples: [], plan: null };

function aDraft(changes: Partial<Draft> = {}): Draft {
  const change = vi.fn<Draft["change"]>(() => Promise.resolve());
  const problemAt: Draft["problemAt"] = () => undefined;
  const rest = {
    text: "name: small",
    setText: vi.fn(),
    completeText: () => Promise.resolve(""),
    read: READ,
    fresh: true,
    failed: null,
  };
  const parsed = { document: DOCUMENT, numbers: NUMBERS };
  return { ...rest, change, update: updateOf(change, parsed), ...parsed, problemAt, ...changes };
}

const SCHEMA = {
  properties: {
    method: {
      default: "tpe",
      oneOf: [
        {
          enum: ["tpe", "random", "annealing"],
          enumDescriptions: ["models good trials; for most sweeps", "samples; for baselines", "cools; for patience"],
        },
        { $ref: "#/$defs/SamplerClass" },
      ],
    },
  },
};

function show(draft: Draft) {
  globalThis.fetch = vi.fn(async request => {
    const isProjects = request instanceof Request && request.url.endsWith("/projects");
    return Response.json(isProjects ? [{ name: "vision" }] : SCHEMA);
  });
  const client = new QueryClient();
  render(
    <QueryClientProvider client={client}>
      <SweepForm draft={draft} />
    </QueryClientProvider>,
  );
}

test("a number is shown as written, and a string that looks like a number keeps its quotes", () => {
  expect(shownAt(DOCUMENT, NUMBERS, ["parameters", "lr", "max"])).toBe("1.0");
  expect(shownAt(DOCUMENT, NUMBERS, ["parameters", "a/b", "values"])).toBe('adam, "64", 2');
  expect(shownAt(DOCUMENT, NUMBERS, ["parameters", "lr"])).toBe("{min: 1e-3, max: 1.0, log: true}");
  expect(shownAt(DOCUMENT, NUMBERS, ["budget", "wall_s"])).toBe("");
});

test("typed input is converted to YAML", () => {
  expect(typedYaml("number", " 1e-3 ")).toBe("1e-3");
  expect(typedYaml("number", "abc")).toBe("abc");
  expect(typedYaml("number", "1 2")).toBe('"1 2"');
  expect(typedYaml("list", "1, 2")).toBe("[1, 2]");
  expect(typedYaml("text", "yes")).toBe('"yes"');
  expect(typedYaml("text", " ")).toBeNull();
  expect(quoted("<b>: x")).toBe('"<b>: x"');
});

test("project, tags and description are written at each keystroke", async () => {
  const draft = aDraft();
  show(draft);
  await userEvent.type(screen.getByLabelText("Project"), "cv");
  expect(vi.mocked(draft.change).mock.calls.map(([changes]) => changes)).toEqual([
    [{ path: ["project"], value: "c" }],
    [{ path: ["project"], value: "cv" }],
  ]);
  await userEvent.type(screen.getByLabelText("Tags"), "a, b");
  expect(draft.change).toHaveBeenLastCalledWith([{ path: ["tags"], value: "[a, b]" }]);
  await userEvent.type(screen.getByLabelText("Description"), "one{Enter}two");
  expect(draft.change).toHaveBeenLastCalledWith([{ path: ["description"], value: '"one\\ntwo"' }]);
});

test("a field commits its change, and choices replace what depends on them", async () => {
  const draft = aDraft();
  show(draft);
  const field = screen.getByLabelText("Upper bound of lr");
  await userEvent.clear(field);
  await userEvent.type(field, "2.0{Enter}");
  expect(draft.change).toHaveBeenCalledWith([{ path: ["parameters", "lr", "max"], value: "2.0" }]);
  await screen.findByRole("option", { name: "random: samples" });
  await userEvent.selectOptions(screen.getByLabelText("Search"), "random");
  expect(draft.change).toHaveBeenLastCalledWith([{ path: ["method"], value: "random" }]);
  await userEvent.selectOptions(screen.getByLabelText("Search"), "custom");
  const initial = "{sampler: optuna.samplers:TPESampler}";
  expect(draft.change).toHaveBeenLastCalledWith([{ path: ["method"], value: initial }]);
  await userEvent.selectOptions(screen.getByLabelText("Data"), "diabetes");
  expect(draft.change).toHaveBeenLastCalledWith([
    { path: ["program", "data"], value: "{name: diabetes}" },
    { path: ["metric"], value: "{name: val_rmse, goal: minimize}" },
  ]);
});

test("a parameter is added with bounds that fit its name, and removed", async () => {
  const draft = aDraft();
  show(draft);
  await userEvent.type(screen.getByLabelText("Name of a parameter to add"), "layers");
  await userEvent.click(screen.getByRole("button", { name: /Add a parameter/ }));
  expect(draft.change).toHaveBeenLastCalledWith([{ path: ["parameters", "layers"], value: "{min: 1, max: 3}" }]);
  await userEvent.click(screen.getByRole("button", { name: "Remove lr" }));
  expect(draft.change).toHaveBeenLastCalledWith([{ path: ["parameters", "lr"], value: null }]);
});

test("a problem is shown at its field, and the form is disabled while the text cannot be parsed", async () => {
  const problems = [{ path: ["parameters", "lr", "min"], line: 4, column: 8, message: "min 2 is above max 1" }];
  expect(problemOf(problems, ["parameters", "lr"])).toBe("min: min 2 is above max 1");
  expect(problemOf(problems, ["parameters", "lr", "min"])).toBe("Min 2 is above max 1");
  expect(problemOf(problems, ["name"])).toBeUndefined();
  show(
    aDraft({ read: { ...READ, document: null }, problemAt: path => (path[0] === "name" ? "is missing" : undefined) }),
  );
  expect(screen.getByText("is missing")).toBeTruthy();
  await waitFor(() => expect(screen.getByText(/cannot be parsed/)).toBeTruthy());
  expect(screen.getByLabelText("Trials").closest<HTMLFieldSetElement>(".new-form")?.disabled).toBe(true);
});

test("the form is disabled until the file is parsed", async () => {
  const draft = aDraft({ read: undefined, document: {}, numbers: {} });
  show(draft);
  const name = screen.getByLabelText("Name");
  await userEvent.type(name, "mine");
  expect(name).toBeDisabled();
  expect(name).toHaveValue("");
  expect(screen.queryByText(/cannot be parsed/)).toBeNull();
  expect(draft.change).not.toHaveBeenCalled();
});

test("the search methods and their descriptions are those of the schema", async () => {
  const draft = aDraft();
  show(draft);
  const field = screen.getByLabelText<HTMLSelectElement>("Search");
  await screen.findByRole("option", { name: "annealing: cools" });
  expect([...field.options].map(option => option.value)).toEqual(["tpe", "random", "annealing", "custom"]);
  expect(field).toHaveValue("tpe");
  expect(screen.getByText("For most sweeps")).toBeTruthy();
  await userEvent.selectOptions(field, "annealing");
  expect(draft.change).toHaveBeenLastCalledWith([{ path: ["method"], value: "annealing" }]);
});

test("selecting the default search method removes the key", async () => {
  const draft = aDraft({ document: { ...DOCUMENT, method: "annealing" } });
  show(draft);
  await screen.findByRole("option", { name: "tpe: models good trials" });
  expect(screen.getByText("For patience")).toBeTruthy();
  await userEvent.selectOptions(screen.getByLabelText("Search"), "tpe");
  expect(draft.change).toHaveBeenLastCalledWith([{ path: ["method"], value: null }]);
});

test("a method that the schema does not list is shown as it is", async () => {
  show(aDraft({ document: { ...DOCUMENT, method: "anealing" } }));
  await screen.findByRole("option", { name: "tpe: models good trials" });
  expect(screen.getByLabelText("Search")).toHaveValue("anealing");
});

test("a custom sampler has fields for its class and arguments", async () => {
  const document = { name: "s", method: { sampler: "a:B", args: { n: 3 } }, parameters: {}, program: {} };
  const read = { document, numbers: {}, wandb: false, problems: [], notes: [], samples: [], plan: null };
  const draft = aDraft({ document, read });
  show(draft);
  expect(screen.getByLabelText<HTMLSelectElement>("Search").value).toBe("custom");
  await userEvent.type(screen.getByLabelText("Sampler class"), "X{Enter}");
  expect(draft.change).toHaveBeenLastCalledWith([{ path: ["method", "sampler"], value: '"a:BX"' }]);
});

test("parameters are classified by their keys", () => {
  expect(
    [
      { min: 1, max: 2 },
      { min: 1, max: 2, log: true },
      { values: [] },
      { values: [1, 2], ordered: true },
      { value: 0 },
      { values: [1], probabilities: [1] },
      { distribution: "beta" },
      { distribution: "q_uniform" },
    ].map(shapeOf),
  ).toEqual(["range", "log", "choice", "ordered", "constant", "weighted", "beta", "other"]);
});

test("the fields of a block are generated from the schema", () => {
  const root = {
    properties: { keep: { $ref: "#/$defs/Keep" } },
    $defs: {
      Keep: {
        description: "What stays.",
        properties: {
          models: { anyOf: [{ type: "integer" }, { type: "null" }], default: null },
          checkpoints: { type: "string", enum: ["none", "best"], default: "none", description: "of `all`" },
          calibrate: { type: "boolean", default: false },
        },
      },
    },
  };
  const spec = blockSpec(root, "keep");
  expect(spec.hint).toBe("What stays.");
  expect(spec.keys.map(({ key, kind, defaultText: standard }) => [key, kind, standard])).toEqual([
    ["models", "number", ""],
    ["checkpoints", "choice", "none"],
    ["calibrate", "flag", "false"],
  ]);
  expect([labelOf("wall_s"), labelOf("memory_mb"), labelOf("max_concurrent")]).toEqual([
    "Wall, in seconds",
    "Memory, in MB",
    "Max concurrent",
  ]);
});

test("a folder is packed without excluded files", async () => {
  const paths = ["code/train.py", "code/.git/x", "code/__pycache__/a.py", "code/lib/b.pyc", "code/lib/c.py"];
  expect(paths.map(pathInFolder)).toEqual(["train.py", null, null, null, "lib/c.py"]);
  expect(crc32(new TextEncoder().encode("123456789"))).toBe(0xcbf43926);
  const bytes = new Uint8Array(await zipOf([{ name: "a.py", bytes: new Uint8Array([1, 2]) }]).arrayBuffer());
  expect([...bytes.slice(0, 4)]).toEqual([0x50, 0x4b, 3, 4]);
  expect(bytes.length).toBe(30 + 4 + 2 + 46 + 4 + 22);
});
