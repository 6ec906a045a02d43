// The table of candidates of an ensemble.
import { render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { stubSize } from "../testing/component-test-setup";
import { Candidates } from "./candidates";

beforeEach(() => stubSize(500));
afterEach(() => vi.unstubAllGlobals());

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
