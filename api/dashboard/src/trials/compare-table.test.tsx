// Trials side by side: differences, the best value, and the reference trial.
import { render, screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { sweepFixture } from "../sweep/fixture";
import { CompareTable, type Trial } from "./compare-table";

const SWEEP = sweepFixture({
  value_rule: "min",
  spec: {
    metric: { name: "loss", goal: "minimize" },
    parameters: { lr: { min: 1e-4, max: 1, log: true }, width: { values: [16, 32] } },
  },
});
const trial = (number: number, changes: Partial<Trial> = {}): Trial =>
  ({
    ...{ id: 100 + number, number, state: "finished", value: 0.5, values: null, params: { lr: 0.01, width: 16 } },
    ...{ device: "cpu-0", attempt: 1, cause: null, sampler: "tpe", tags: [] },
    ...{ fallback_reason: null, fallback_error: null, proposed_for: null },
    ...{ started_at: "2026-01-01T00:00:00Z", ended_at: "2026-01-01T00:01:00Z", running_s: 50, queued_s: 10 },
    ...changes,
  }) as Trial;

function show(trials: Trial[], only = false) {
  const [onFirst, onDrop] = [vi.fn(), vi.fn()];
  render(<CompareTable sweep={SWEEP} trials={trials} only={only} onFirst={onFirst} onDrop={onDrop} />);
  return { onFirst, onDrop };
}

const line = (name: string) =>
  within(screen.getByRole("rowheader", { name }).closest("tr") as HTMLElement)
    .getAllByRole("cell")
    .map(cell => cell.textContent);

test("values are compared, and the best one is named for screen readers", () => {
  show([trial(1, { value: 0.5 }), trial(2, { value: 0.25 })]);
  expect(line("loss ↓")).toEqual(["0.5", "best of these: 0.25"]);
});

test("a single value has no best, and a missing one is a dash", () => {
  show([trial(1), trial(2, { value: null })]);
  expect(line("loss ↓")).toEqual(["0.5", "–"]);
});

test("parameters differ by a factor on a log scale", () => {
  show([trial(1), trial(2, { params: { lr: 0.02, width: 32 } })]);
  expect(line("lr")[1]).toMatch(/^0.02.*2/);
  expect(line("width")[1]).toMatch(/^32.*\+16/);
});

test("the run of each trial is compared", () => {
  show([
    trial(1),
    trial(2, {
      device: null,
      attempt: 3,
      cause: "disk_quota",
      tags: ["a", "b"],
      ended_at: null,
      running_s: null,
      queued_s: null,
    }),
  ]);
  expect(line("running time")).toEqual(["50 s", "–"]);
  expect(line("queued")).toEqual(["10 s", "–"]);
  expect(line("device")).toEqual(["cpu-0", "–"]);
  expect(line("cause")).toEqual(["–", "disk quota"]);
  expect(line("tags")).toEqual(["–", "a, b"]);
});

test("only rows that differ remain, and groups without differences say so", () => {
  show([trial(1), trial(2, { value: 0.25 })], true);
  expect(screen.getAllByRole("rowheader").map(head => head.textContent)).toEqual(["loss ↓"]);
  expect(screen.getAllByText("same in all trials")).toHaveLength(2);
});

test("another trial becomes the reference, and one of three can be removed", async () => {
  const { onFirst, onDrop } = show([trial(1), trial(2), trial(3)]);
  await userEvent.click(screen.getByRole("button", { name: "Use trial 2 as the reference" }));
  await userEvent.click(screen.getByRole("button", { name: "Remove trial 3" }));
  expect([onFirst.mock.calls, onDrop.mock.calls]).toEqual([[[102]], [[103]]]);
});

test("the last two trials cannot be removed", () => {
  show([trial(1), trial(2)]);
  expect(screen.queryByRole("button", { name: /^Remove/ })).toBeNull();
});
