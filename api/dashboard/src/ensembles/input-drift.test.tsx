// Drift of inputs: a sentence, the features that differ most, and why nothing can be compared.
import { screen } from "@testing-library/react";
import { showWithService } from "../testing/component-test-setup";
import { DriftPanel, summaryOf } from "./input-drift";

const FEATURE = { feature: 3, name: "age", train_mean: 40, train_std: 10, recent_mean: 61, recent_std: 10 };
const DRIFT = { rows: 1_200, problem: "", threshold: 0.5, notable: 1, features: [{ ...FEATURE, difference: 2.1 }] };

const show = (drift: object) => showWithService(<DriftPanel ensembleId={3} />, { "GET /ensembles/3/drift": drift });

afterEach(() => vi.unstubAllGlobals());

test("the features that differ most are listed", async () => {
  show({ ...DRIFT, features: [...DRIFT.features, { ...FEATURE, feature: 4, name: "kind", difference: null }] });
  expect(
    await screen.findByText("1 feature of 1,200 recent rows differs by more than 0.5 standard deviations."),
  ).toBeVisible();
  const rows = screen.getAllByRole("row").map(row => row.textContent);
  expect(rows[1]).toBe("age401061102.1");
  expect(rows[2]).toBe("kind40106110another constant");
});

test("too few rows are a sentence", async () => {
  show({ ...DRIFT, problem: "20 of at least 200 rows have been sampled in the last hour", features: [] });
  expect(await screen.findByText(/^Nothing to compare: 20 of at least 200 rows/)).toBeVisible();
  expect(screen.queryByRole("table")).toBeNull();
});

test("without a notable feature the sentence says so", () => {
  expect(summaryOf({ ...DRIFT, notable: 0 })).toMatch(/^No feature of 1,200 recent rows differs/);
  expect(summaryOf({ ...DRIFT, notable: 2 })).toMatch(/^2 features of 1,200 recent rows differ by/);
});
