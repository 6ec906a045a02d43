// The comparison of two versions: only on the same rows, with the better one named.
import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { showWithService } from "../testing/component-test-setup";
import type { Ensemble, Evaluation } from "./ensemble-types-and-labels";
import { ENSEMBLE, FIGURES } from "./fixture";
import { pairOf, VersionComparison } from "./version-comparison";

const version = ENSEMBLE.versions[0] as Ensemble["versions"][number];
const TWO: Ensemble = { ...ENSEMBLE, version: 1, versions: [version, { ...version, number: 2 }] };
const evaluation = (id: number, of: number, changes: object = {}, scores: object = {}): Evaluation =>
  ({
    ...{ id, ensemble_id: ENSEMBLE.id, version: of, split: "test", state: "finished", reason: "", created_at: null },
    result: { ...FIGURES, ensemble: { ...FIGURES.ensemble, ...scores }, ...changes },
  }) as unknown as Evaluation;

const DIFFERENCE = {
  ...{ split: "test", rows: 1_000, first_version: 1, second_version: 2 },
  metrics: [
    { metric: "accuracy", difference: -0.125, ci95: [-0.2, -0.05], distinguishable: true },
    { metric: "log_loss", difference: -0.01, ci95: [-0.03, 0.01], distinguishable: false },
  ],
  mcnemar: { only_ensemble_right: 3, only_best_right: 40, exact: false, p_value: 0.00001 },
};

function show(evaluations: readonly Evaluation[], ensemble = TWO) {
  const path = `/ensembles/${ensemble.id}`;
  return showWithService(<VersionComparison ensemble={ensemble} />, {
    [`GET ${path}/evaluations`]: evaluations,
    [`POST ${path}/evaluate`]: {},
    [`GET ${path}/version-difference`]: DIFFERENCE,
  });
}

afterEach(() => vi.unstubAllGlobals());

test("scores of the same rows are compared, each in its direction", async () => {
  show([evaluation(2, 2, {}, { accuracy: 0.75, log_loss: 0.25 }), evaluation(1, 1)]);
  expect(await screen.findByText("On the same 8 rows of the test split.")).toBeVisible();
  const rows = within(screen.getByRole("table"))
    .getAllByRole("row")
    .map(row =>
      within(row)
        .queryAllByRole("cell")
        .map(cell => cell.textContent),
    )
    .filter(cells => cells.length > 0);
  expect(rows[0]).toEqual(["0.8750", "0.7500", "−0.1250", "version 1"]);
  expect(rows[1]).toEqual(["0.3000", "0.2500", "−0.0500", "version 2"]);
  expect(rows[2]?.at(-1)).toBe("equal");
});

test("whether the difference is more than chance is shown with its interval", async () => {
  const sent = show([evaluation(8, 2), evaluation(5, 1)]);
  const list = within(await screen.findByRole("list", { name: "Confidence intervals" }));
  expect(list.getAllByRole("listitem").map(item => item.textContent)).toEqual([
    "Accuracy of version 2 minus version 1: −0.1250, 95 % interval −0.2000 to −0.0500. " +
      "On these 1,000 rows, the difference is distinguishable from zero. McNemar's p = 1e−5.",
    "Log loss of version 2 minus version 1: −0.0100, 95 % interval −0.0300 to +0.0100. " +
      "On these 1,000 rows, the difference is not distinguishable from zero.",
  ]);
  const asked = sent.find(one => one.path.endsWith("/version-difference"));
  expect(asked?.query.toString()).toBe("first=5&second=8");
});

test("results on other rows are not compared", () => {
  const one = evaluation(1, 1);
  expect(pairOf([one, evaluation(2, 2, { split: "validation" })], 1, 2)).toBeNull();
  expect(pairOf([one, evaluation(2, 2, { rows: 9 })], 1, 2)).toBeNull();
  const posted = { split: "posted" };
  expect(pairOf([evaluation(1, 1, posted), evaluation(2, 2, posted)], 1, 2)).toBeNull();
  expect(pairOf([one, evaluation(2, 2)], 1, 2)?.split).toBe("test");
});

test("a version without a result is evaluated on request", async () => {
  const sent = show([evaluation(1, 1)]);
  await userEvent.click(await screen.findByRole("button", { name: "Evaluate version 2 on the test split" }));
  await waitFor(() => expect(sent.at(-1)?.body ?? sent.at(-2)?.body).toBeDefined());
  expect(sent.find(one => one.method === "POST")?.body).toEqual({ version: 2, split: "test", wait_s: 0 });
  expect(screen.queryByRole("button", { name: /version 1 on/ })).toBeNull();
});

test("an ensemble with one version has nothing to compare", async () => {
  const sent = show([], { ...TWO, versions: [version] });
  await waitFor(() => expect(sent).toHaveLength(1));
  expect(screen.queryByText("Comparison of two versions")).toBeNull();
});
