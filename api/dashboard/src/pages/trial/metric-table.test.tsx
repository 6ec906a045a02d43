// The metrics of a trial: values with their steps, marks of what is not finite, and the search.
import { screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { showWithService } from "../../testing/component-test-setup";
import type { MetricSummary } from "../../trials/use-metric-summaries";
import { MetricTable } from "./metric-table";
import type { Trial } from "./queries";

const TRIAL = { id: 5, ended_at: "2026-01-01T00:00:00Z" } as Trial;

function metric(name: string, more: Partial<MetricSummary> = {}): MetricSummary {
  return {
    ...{ name, last: 0.5, last_step: 9, min: 0.25, min_step: 3, max: 4, max_step: 0 },
    ...{ best: null, best_step: null, counted: null, non_finite: 0, non_finite_step: null },
    ...more,
  };
}

function show(metrics: readonly MetricSummary[]) {
  showWithService(<MetricTable trial={TRIAL} />, { "GET /trials/5/metric-summaries": { metrics, non_finite: {} } });
}

afterEach(() => vi.unstubAllGlobals());

test("each metric has its last, lowest and highest value with steps; the one that counts is marked", async () => {
  show([metric("loss", { counted: "min" }), metric("last/loss", { counted: "last" })]);
  const row = (await screen.findByRole("rowheader", { name: "loss" })).closest("tr") as HTMLElement;
  const cells = within(row)
    .getAllByRole("cell")
    .map(cell => cell.textContent);
  expect(cells).toEqual(["0.5 step 9", "counts: 0.25 step 3", "4 step 0"]);
  const other = screen.getByRole("rowheader", { name: "last/loss" }).closest("tr") as HTMLElement;
  expect(within(other).getAllByRole("cell")[0]).toHaveTextContent("counts: 0.5 step 9");
});

test("values that are not finite are marked, also without any other value", async () => {
  const none = { last: null, last_step: null, min: null, min_step: null, max: null, max_step: null };
  show([metric("val/loss", { ...none, non_finite: 12, non_finite_step: 3 }), metric("loss")]);
  expect(await screen.findByRole("img", { name: "12 values are NaN or infinite, first at step 3" })).toBeVisible();
  expect(screen.getByText("2 logged; 1 with values that are NaN or infinite")).toBeVisible();
});

test("200 metrics are searched", async () => {
  show(Array.from({ length: 200 }, (_, at) => metric(`layer ${at}/norm`)));
  await userEvent.type(await screen.findByLabelText("Search metrics"), "norm 17/");
  expect(screen.getAllByRole("rowheader").map(row => row.textContent?.trim())).toEqual([
    "layer 17/norm",
    "layer 117/norm",
  ]);
  await userEvent.type(screen.getByLabelText("Search metrics"), "zzz");
  expect(screen.getByText("No metric matches norm 17/zzz.")).toBeVisible();
});
