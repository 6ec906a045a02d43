// How members were selected, in words, and their weights.
import { render, screen } from "@testing-library/react";
import { stubSize } from "../testing/component-test-setup";
import type { Ensemble } from "./ensemble-types-and-labels";
import { ENSEMBLE } from "./fixture";
import { MemberSelection } from "./selection-summary";

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

test("a path of several steps has a chart", () => {
  const path = [0.5, 0.25].map((score, position) => ({ position, trial_id: 11, score }));
  render(<MemberSelection ensemble={selection({ method: "greedy", path })} />);
  expect(screen.getByRole("img", { name: /after each of 2 selection steps/ })).toBeVisible();
});

test("rules without weights show a message", () => {
  const { rerender } = render(<MemberSelection ensemble={ENSEMBLE} />);
  expect(screen.getAllByText("50.0 %")).toHaveLength(2);
  rerender(<MemberSelection ensemble={{ ...ENSEMBLE, combine: "median" }} />);
  expect(screen.getByText("This combination rule does not use weights.")).toBeVisible();
  expect(screen.queryByText("50.0 %")).toBeNull();
});
