// The columns of the trial table: order, defaults, and the contents of cells.
import { render, screen } from "@testing-library/react";
import { sweepFixture } from "../sweep/fixture";
import { type Column, columnsOf, defaultColumns, isSortable } from "./columns";
import type { Row } from "./use-table-windows";

const SWEEP = sweepFixture({
  spec: {
    metric: { name: "loss", goal: "minimize" },
    parameters: { lr: { min: 0, max: 1 }, optimizer: { values: ["adam", "sgd"] }, epochs: { value: 3 } },
  },
});
const FOUND = ["id", "attrs.gpu", "params.lr", "cause", "state", "number", "value", "running_s", "tags", "reported"];
const row = (cells: Record<string, unknown>): Row => ({
  id: 70,
  number: 3,
  state: "finished",
  cell: column => cells[column] ?? null,
});
const column = (key: string, sweep = SWEEP): Column => columnsOf(sweep, FOUND).find(each => each.key === key) as Column;

function cell(key: string, cells: Record<string, unknown>, sweep = SWEEP) {
  const { container } = render(<>{column(key, sweep).show(row(cells))}</>);
  return container;
}

test("columns are in a fixed order, parameters of the file included", () => {
  expect(columnsOf(SWEEP, FOUND).map(each => each.key)).toEqual([
    ...["number", "state", "value", "params.lr", "params.optimizer", "params.epochs", "running_s", "peak_memory_mb"],
    ...["peak_gpu_memory_mb", "cause", "error", "tags", "id", "attrs.gpu"],
  ]);
});

test("constants, attributes and ids are hidden by default", () => {
  const columns = columnsOf(SWEEP, FOUND);
  expect(defaultColumns(columns, SWEEP)).toEqual([
    ...["number", "state", "value", "params.lr", "params.optimizer", "running_s", "peak_memory_mb", "cause", "error"],
    "tags",
  ]);
});

test("columns that a window without their values leaves out can be chosen, and are empty", () => {
  const keys = columnsOf(SWEEP, ["number", "state"]).map(each => each.key);
  expect(keys).toEqual(expect.arrayContaining(["peak_memory_mb", "peak_gpu_memory_mb", "cause", "error"]));
});

test("the failure cause is shown only if a trial has failed", () => {
  const sweep = { ...SWEEP, counts: { finished: 3 } };
  expect(defaultColumns(columnsOf(sweep, FOUND), sweep)).not.toContain("cause");
  const failing = { ...SWEEP, counts: { failed: 3 } };
  const shown = defaultColumns(columnsOf(failing, [...FOUND, "error"]), failing);
  expect(shown).toContain("cause");
  expect(shown).toContain("error");
  const error = columnsOf(failing, ["error"]).find(({ key }) => key === "error");
  const message = (text: string | null) => render(<div>{error?.show(row({ error: text }))}</div>).container.textContent;
  expect(message("ValueError: no column label")).toBe("ValueError: no column label");
  expect(message(null)).toBe("");
});

test("the number of parameter columns is limited by default", () => {
  const names = Array.from({ length: 30 }, (_, index) => `params.p${index}`);
  const shown = defaultColumns(columnsOf(SWEEP, names), SWEEP).filter(key => key.startsWith("params."));
  expect(shown).toHaveLength(14);
});

test("several objectives have one column each and no common value", () => {
  const sweep = sweepFixture({
    spec: {
      metrics: [
        { name: "accuracy", goal: "maximize" },
        { name: "size", goal: "minimize" },
      ],
    },
  });
  const columns = columnsOf(sweep, ["value", "values.accuracy", "values.size"]);
  const values = columns.filter(each => each.key.startsWith("value"));
  expect(values.map(each => [each.key, each.name])).toEqual([
    ["values.accuracy", "accuracy ↑"],
    ["values.size", "size ↓"],
  ]);
});

test("numbers are aligned to the right", () => {
  expect(["value", "params.lr", "params.optimizer"].map(key => column(key).number)).toEqual([true, true, false]);
});

test("tags cannot be sorted by", () => expect([isSortable("tags"), isSortable("value")]).toEqual([false, true]));

test("the best trial has a star with a name", () => {
  cell(
    "value",
    { value: 0.97 },
    sweepFixture({ ...SWEEP, best: { ...SWEEP.best, trial_id: 70 } as typeof SWEEP.best }),
  );
  expect(screen.getByRole("img", { name: "best" })).toBeVisible();
});

test("a violated constraint is marked", () => {
  cell("value", { value: 0.97, violated: true }, { ...SWEEP, best: null });
  expect(screen.getByRole("img", { name: "violates a constraint" })).toBeVisible();
});

test("a trial without a result shows its last report", () => {
  expect(cell("value", { reported: 0.5, reported_step: 4 }).textContent).toBe("step 4 0.5");
});

test.each([
  [{ requested: "stop" }, "stopping"],
  [{ requested: "retry" }, "waiting"],
  [{}, "finished"],
])("the state with %j is %s", (cells, label) => {
  expect(cell("state", cells).textContent).toContain(label);
});

test("causes and tags are readable", () => {
  expect(cell("cause", { cause: "disk_quota" }).textContent).toBe("disk quota");
  expect(cell("cause", {}).textContent).toBe("");
  expect(cell("tags", { tags: ["keep", "<b>odd</b>"] }).textContent).toBe("keep<b>odd</b>");
  expect(cell("tags", { tags: ["baseline-seed-17"] }).querySelector(".cut-name-start")).toBeTruthy();
});

test("the sampler of a trial says why it is another than the method's", () => {
  const found = ["sampler", "fallback_reason", "fallback_error", "proposed_for"];
  const [sampler, ...others] = columnsOf(SWEEP, found).filter(({ key }) => found.includes(key));
  expect(others).toEqual([]);
  const shown = (cells: Record<string, unknown>) => render(<>{sampler?.show(row(cells))}</>).container.textContent;
  expect(shown({ sampler: "gp" })).toBe("gp");
  expect(shown({ sampler: "gp", proposed_for: 17 })).toBe("gp, proposed for trial 17");
  expect(shown({ sampler: "random", fallback_reason: "failed", fallback_error: "ValueError: no" })).toBe(
    "random, because the method failed: ValueError: no",
  );
});

test("the number links to the trial", () => {
  cell("number", {});
  expect(screen.getByRole("link", { name: "3" })).toHaveAttribute("href", "/sweeps/7/trials/3");
});
