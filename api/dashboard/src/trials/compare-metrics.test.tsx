// The metrics of compared trials: side by side by name, another figure, the search, and the limit of rows.
import { screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { showWithService } from "../testing/component-test-setup";
import { CompareMetrics } from "./compare-metrics";
import type { Trial } from "./compare-table";
import type { MetricSummary } from "./use-metric-summaries";

const TRIALS = [7, 8].map(number => ({
  ...{ id: 100 + number, sweep_id: 3, number, ended_at: "2026-01-01T00:00:00Z" },
})) as Trial[];

function metric(name: string, more: Partial<MetricSummary> = {}): MetricSummary {
  return {
    ...{ name, last: 0.5, last_step: 1200, min: 0.25, min_step: 3, max: 4, max_step: 0 },
    ...{ best: null, best_step: null, counted: null, non_finite: 0, non_finite_step: null },
    ...more,
  };
}

function show(first: readonly MetricSummary[], second: readonly MetricSummary[]) {
  return showWithService(<CompareMetrics trials={TRIALS} />, {
    "GET /trials/107/metric-summaries": { metrics: first, non_finite: {} },
    "GET /trials/108/metric-summaries": { metrics: second, non_finite: {} },
  });
}

async function cells(name: string): Promise<HTMLElement[]> {
  const row = (await screen.findByRole("rowheader", { name })).closest("tr") as HTMLElement;
  return within(row).getAllByRole("cell");
}

const texts = async (name: string) => (await cells(name)).map(cell => cell.textContent);

afterEach(() => vi.unstubAllGlobals());

test("each metric has a row with the value of each trial, also if only one has logged it", async () => {
  show([metric("loss"), metric("norm", { last: 2 })], [metric("loss", { last: 0.125 })]);
  expect(await texts("loss")).toEqual(["0.5", "0.125"]);
  expect(await texts("norm")).toEqual(["2", "–"]);
  expect((await cells("loss"))[0]).toHaveAttribute("title", "at step 1,200");
  expect((await cells("norm"))[1]).not.toHaveAttribute("title");
  expect(screen.getByRole("link", { name: "Trial 8" })).toHaveAttribute("href", "/sweeps/3/trials/8");
  expect(screen.getByText("2 logged by these trials")).toBeVisible();
});

test("the lowest and the highest value are shown with their steps", async () => {
  show([metric("loss")], [metric("loss", { min: 0.0625, max: 8, max_step: null })]);
  await screen.findByRole("rowheader", { name: "loss" });
  await userEvent.selectOptions(screen.getByLabelText("Figure"), "lowest value");
  expect(await texts("loss")).toEqual(["0.25", "0.0625"]);
  expect((await cells("loss"))[0]).toHaveAttribute("title", "at step 3");
  await userEvent.selectOptions(screen.getByLabelText("Figure"), "highest value");
  expect(await texts("loss")).toEqual(["4", "8"]);
  expect((await cells("loss"))[1]).not.toHaveAttribute("title");
});

test("values that are not finite are marked", async () => {
  show([metric("loss", { non_finite: 2, non_finite_step: 5 })], [metric("loss")]);
  const [marked, other] = await cells("loss");
  const mark = { name: "2 values are NaN or infinite, first at step 5" };
  expect(within(marked as HTMLElement).getByRole("img", mark)).toBeVisible();
  expect(within(other as HTMLElement).queryByRole("img")).toBeNull();
});

test("of 60 metrics 40 are shown, and the others are found by name", async () => {
  const many = Array.from({ length: 60 }, (_, at) => metric(`layer ${at}/norm`));
  show(many, many);
  await screen.findByRole("rowheader", { name: "layer 0/norm" });
  expect(screen.getAllByRole("rowheader")).toHaveLength(40);
  expect(screen.getByText("20 more: type to search")).toBeVisible();
  await userEvent.type(screen.getByLabelText("Search metrics"), "norm 57");
  expect(screen.getAllByRole("rowheader").map(head => head.textContent)).toEqual(["layer 57/norm"]);
  expect(screen.queryByText(/more: type to search/)).toBeNull();
});

test("nothing is shown for trials without metrics", async () => {
  const sent = show([], []);
  await vi.waitFor(() => expect(sent).toHaveLength(2));
  expect(screen.queryByText("Metrics")).toBeNull();
});
