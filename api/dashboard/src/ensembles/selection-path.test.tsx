// The selection path of an ensemble and of a preview, as a chart and as a table.
import { render, screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { stubSize } from "../testing/component-test-setup";
import type { Step } from "./ensemble-types-and-labels";
import { ENSEMBLE } from "./fixture";
import { PathChart, SelectionHistory } from "./selection-path";

beforeEach(() => stubSize(500));
afterEach(() => vi.unstubAllGlobals());

test("the path names the trial of each step", async () => {
  const path = [
    { position: 0, trial_id: 11, score: 0.5 },
    { position: 1, trial_id: 99, score: 0.25 },
  ];
  render(<SelectionHistory ensemble={{ ...ENSEMBLE, selection: { ...ENSEMBLE.selection, method: "greedy", path } }} />);
  screen.getByRole("img", { name: /after each of 2 selection steps, from 0.5000 to 0.2500/ }).focus();
  await userEvent.keyboard("{ArrowRight}");
  expect(screen.getByRole("status")).toHaveTextContent("Selection steps 1: trial 0");
  await userEvent.keyboard("{ArrowRight}");
  expect(screen.getByRole("status")).toHaveTextContent("Selection steps 2: trial id 99");
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
