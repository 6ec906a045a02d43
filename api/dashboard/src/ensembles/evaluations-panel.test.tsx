// The evaluations of an ensemble: none, in progress, failed, several, and of another version.
import { screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { showWithService, stubSize } from "../testing/component-test-setup";
import type { Ensemble, Evaluation } from "./ensemble-types-and-labels";
import { EvaluationPanel } from "./evaluations-panel";
import { ENSEMBLE, FIGURES } from "./fixture";

const evaluation = (id: number, changes: Partial<Evaluation> = {}): Evaluation =>
  ({
    ...{ id, ensemble_id: 3, version: 1, split: "test", state: "finished", reason: "", result: FIGURES },
    created_at: new Date().toISOString(),
    ...changes,
  }) as Evaluation;

function show(found: Evaluation[], ensemble: Partial<Ensemble> = {}) {
  window.history.replaceState(null, "", "/ensembles/3");
  stubSize(400);
  return showWithService(<EvaluationPanel ensemble={{ ...ENSEMBLE, ...ensemble }} />, {
    "GET /ensembles/3/evaluations": found,
    "POST /ensembles/3/evaluate": evaluation(9, { state: "queued", result: null }),
  });
}

afterEach(() => vi.unstubAllGlobals());

test("without an evaluation there is an explanation", async () => {
  show([]);
  expect(await screen.findByRole("heading", { name: "No evaluation yet" })).toBeVisible();
});

test("a finished evaluation shows its scores and how the rows were used", async () => {
  show([evaluation(1)]);
  expect(await screen.findByText("On 8 test rows, which was not used for selection or fitting.")).toBeVisible();
  expect(screen.getAllByRole("rowheader", { name: /^Trial 0/ })[0]).toBeVisible();
});

test("an evaluation in progress keeps the button busy", async () => {
  show([evaluation(1, { state: "running", result: null })]);
  expect(await screen.findByRole("status", { name: "Evaluation in progress" })).toBeVisible();
  expect(screen.getByRole("button", { name: "Evaluating…" })).toBeDisabled();
});

test("a failed evaluation shows its reason", async () => {
  show([evaluation(1, { state: "failed", reason: "a member died", result: null })]);
  expect(await screen.findByText("a member died")).toBeVisible();
});

test("another evaluation is selected, in the URL", async () => {
  const older = evaluation(1, {
    split: "calibration",
    result: { ...FIGURES, split: "calibration", rows: 5 } as Evaluation["result"],
  });
  show([evaluation(2), older]);
  const select = await screen.findByLabelText<HTMLSelectElement>("Select an evaluation");
  expect([...select.options].map(option => option.text)).toEqual([
    "#2: test, version 1, just now",
    "#1: calibration, version 1, just now",
  ]);
  await userEvent.selectOptions(select, "1");
  expect(window.location.search).toBe("?evaluation=1");
  expect(await screen.findByText("On 5 calibration rows.")).toBeVisible();
});

test("members of another version are named by their trials", async () => {
  const versions = [
    ...ENSEMBLE.versions,
    {
      ...{ number: 2, role: "retired", combine: "mean", k: 2, trial_ids: [21, 22], created_at: null },
      members: [8, 9].map(number => ({ trial_id: 13 + number, trial_number: number, sweep_id: 1 })),
    },
  ] as Ensemble["versions"];
  show([evaluation(1, { version: 2 })], { versions });
  expect((await screen.findAllByRole("rowheader", { name: /^Trial 8/ }))[0]).toBeVisible();
});

test("a request asks the service for the test split", async () => {
  const sent = show([]);
  await userEvent.click(await screen.findByRole("button", { name: "Evaluate on test" }));
  expect(await screen.findByText("Evaluation started")).toBeVisible();
  expect(sent.find(one => one.method === "POST")?.body).toEqual({ split: "test", force: false, wait_s: 0 });
});

test("an ensemble that is not ready cannot be evaluated", async () => {
  show([], { state: "degraded" });
  const button = await screen.findByRole("button", { name: "Evaluate on test" });
  expect(button).toBeDisabled();
  expect(button).toHaveAttribute("title", "Requires all members to be ready");
});
