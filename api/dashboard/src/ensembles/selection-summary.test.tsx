// How members were selected: the path, the weights, candidates, and ensembles of a sweep.
import { render, screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { showWithService, stubSize } from "../testing/service";
import { Candidates } from "./candidates";
import type { Ensemble, Step } from "./ensemble";
import { ENSEMBLE } from "./fixture";
import { PathChart } from "./selection-path";
import { MemberSelection } from "./selection-summary";
import { EnsemblesOfSweep } from "./sweep-ensembles";

beforeEach(() => stubSize(500));
afterEach(() => vi.unstubAllGlobals());

const selection = (changes: object): Ensemble => ({
  ...ENSEMBLE,
  selection: { ...ENSEMBLE.selection, ...changes } as Ensemble["selection"],
});

test.each([
  [{}, "Top k of 4 finished trials with a model."],
  [{ method: "explicit" }, "Manual."],
  [{ fitted_on: "calibration" }, "The combination was fitted on calibration."],
  [{ fitted_on: "test", forced: true }, "The combination was fitted on test (forced)."],
  [{ note: "two trials were skipped" }, "Note: two trials were skipped."],
])("a selection with %j is summarized", (changes, text) => {
  render(<MemberSelection ensemble={selection(changes)} />);
  expect(screen.getByText(new RegExp(text.replace(/[.()]/g, "\\$&")))).toBeVisible();
});

test("the path names the trial of each step", async () => {
  const path = [
    { trial_id: 11, score: 0.5 },
    { trial_id: 99, score: 0.25 },
  ];
  render(<MemberSelection ensemble={selection({ method: "greedy", path })} />);
  screen.getByRole("img", { name: /after each of 2 selection steps, from 0.5000 to 0.2500/ }).focus();
  await userEvent.keyboard("{ArrowRight}");
  expect(screen.getByRole("status")).toHaveTextContent("Selection steps 1: trial 0");
  await userEvent.keyboard("{ArrowRight}");
  expect(screen.getByRole("status")).toHaveTextContent("Selection steps 2: trial id 99");
});

test("rules without weights show a message", () => {
  const { rerender } = render(<MemberSelection ensemble={ENSEMBLE} />);
  expect(screen.getAllByText("50.0 %")).toHaveLength(2);
  rerender(<MemberSelection ensemble={{ ...ENSEMBLE, combine: "median" }} />);
  expect(screen.getByText("This combination rule does not use weights.")).toBeVisible();
  expect(screen.queryByText("50.0 %")).toBeNull();
});

const STEPS = [0, 1, 2].map(index => ({
  trial_id: 11 + index,
  number: index,
  members: index + 1,
  inside: index < 2,
  validation: { log_loss: 0.5 - index / 10 },
  calibration: index === 0 ? null : { log_loss: 0.6 },
})) as unknown as Step[];

test("every step of the path is in a table, with those that were not selected", async () => {
  render(<PathChart steps={STEPS} task="classification" method="greedy" />);
  await userEvent.click(screen.getByText("All selection steps"));
  const rows = within(screen.getByRole("table")).getAllByRole("row").slice(1);
  expect(rows.map(row => row.textContent)).toEqual(["1010.5000–", "2120.40000.6000", "3 (not selected)230.30000.6000"]);
});

test("held-out rows are left out if there are none", () => {
  const without = STEPS.map(step => ({ ...step, calibration: null })) as Step[];
  render(<PathChart steps={without} task="classification" method="top_k" />);
  expect(screen.getByText("Selection rows (validation)")).toBeVisible();
  expect(screen.queryByText("Held-out rows (calibration)")).toBeNull();
});

const POOL = [11, 12].map((trial_id, number) => ({
  ...{ trial_id, number, sweep_id: 1, value: 0.9 - number / 10, weight: 0 },
  scores: { accuracy: 0.9, log_loss: 0.3 },
}));

test("candidates show their weight, and a click toggles them", async () => {
  const onToggle = vi.fn();
  const weights = new Map([[12, 0.25]]);
  render(<Candidates pool={POOL as never} metric="val_accuracy" weights={weights} onToggle={onToggle} />);
  const row = screen.getByRole("checkbox", { name: "Trial 1 is a member" });
  expect(row).toBeChecked();
  expect(screen.getByText("25.0 %")).toBeVisible();
  await userEvent.click(screen.getByRole("checkbox", { name: "Trial 0 is a member" }));
  expect(onToggle).toHaveBeenCalledWith(11);
  expect(screen.getAllByRole("columnheader").map(head => head.textContent)).toEqual([
    ...["Member", "Trial", "val_accuracy", "Accuracy (validation)", "Log loss (validation)", "Weight"],
  ]);
});

test("a filter without candidates shows a message", () => {
  render(<Candidates pool={[]} metric="loss" weights={new Map()} onToggle={() => undefined} />);
  expect(screen.getByText("No candidates match the filter.")).toBeVisible();
});

test("the newest ensembles of a sweep are listed", async () => {
  const ids = Array.from({ length: 10 }, (_, index) => index + 1);
  const answers = Object.fromEntries(ids.map(id => [`GET /ensembles/${id}`, { ...ENSEMBLE, id, name: `small-${id}` }]));
  const sent = showWithService(<EnsemblesOfSweep ids={ids} />, answers);
  expect(await screen.findByRole("link", { name: "small-10" })).toHaveAttribute("href", "/ensembles/10");
  expect(sent.map(one => one.path)).not.toContain("/ensembles/1");
  expect(screen.getByRole("link", { name: "All 10 ensembles" })).toHaveAttribute("href", "/ensembles");
});
