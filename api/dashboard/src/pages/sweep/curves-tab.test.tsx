// The learning curves of a sweep: settings in the URL, hints on what is shown, and empty states.
import { screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { sweepFixture } from "../../sweep/fixture";
import { showWithService } from "../../testing/service";
import { CurvesTab } from "./curves-tab";

const curve = (number: number, values: number[], state = "finished") => ({
  ...{ trial_id: 100 + number, number, state, points: values.length },
  ...{ steps: values.map((_, step) => step), values },
});
const VIEW = {
  ...{ metric: "loss", goal: "minimize", metrics: ["loss", "accuracy"], matching: 2 },
  curves: [curve(1, [3, 2, 1]), curve(2, [4, 3], "pruned")],
};

function show(view: object, query = "", state = "running") {
  window.history.replaceState(null, "", `/sweeps/7/curves${query}`);
  const sent = showWithService(<CurvesTab sweepId={7} />, {
    "GET /sweeps/7": sweepFixture({ state }),
    "GET /sweeps/7/curves": view,
  });
  return () => sent.filter(one => one.path.endsWith("/curves")).map(one => one.query);
}

afterEach(() => vi.unstubAllGlobals());

test("the chart describes its curves and the best value", async () => {
  show(VIEW);
  expect(await screen.findByRole("img", { name: "Curves of loss, 2 trials. Best value 1." })).toBeTruthy();
  expect(screen.getByText("2 trials have reported it")).toBeVisible();
  expect(screen.getByText("┄ pruned, failed or cancelled")).toBeVisible();
});

test("a selection of many curves is explained", async () => {
  show({ ...VIEW, matching: 1_200 });
  expect(
    await screen.findByText(/1,200 trials have reported it; showing 2: running trials first, then the best/),
  ).toBeVisible();
});

test("single reports are points", async () => {
  show({ ...VIEW, matching: 1, curves: [curve(1, [3])] });
  expect(
    await screen.findByText("1 trial has reported it, once each, so there are points instead of lines"),
  ).toBeVisible();
});

test("another metric and number of trials are requested and stored in the URL", async () => {
  const queries = show(VIEW);
  await userEvent.selectOptions(await screen.findByLabelText("Metric"), "accuracy");
  await waitFor(() => expect(queries().at(-1)?.get("metric")).toBe("accuracy"));
  await userEvent.selectOptions(screen.getByLabelText("Show"), "300");
  await waitFor(() => expect(queries().at(-1)?.get("limit")).toBe("300"));
  expect(Number(queries().at(-1)?.get("max_points"))).toBeLessThan(1_000);
  expect(window.location.search).toBe("?curve=accuracy&curves=300");
});

test("settings that are not offered are ignored", async () => {
  const queries = show(VIEW, "?curves=99999&smooth=7");
  await screen.findByLabelText("Metric");
  await waitFor(() => expect(screen.getByLabelText("Show")).toHaveValue("50"));
  expect(screen.getByRole("slider")).toHaveValue("0.95");
  expect(queries()).not.toEqual([]);
  expect(queries().every(query => query.get("limit") === "50")).toBe(true);
});

test("without any metric the reason depends on the sweep and on the filter", async () => {
  show({ ...VIEW, metric: null, metrics: [], curves: [], matching: 0 });
  expect(await screen.findByRole("heading", { name: "No curves yet" })).toBeVisible();
});

test("a filter without curves can be cleared", async () => {
  show({ ...VIEW, metric: null, metrics: [], curves: [], matching: 0 }, "?filter=tag:none");
  await userEvent.click(await screen.findByRole("button", { name: "Clear filter" }));
  expect(window.location.search).toBe("");
});

test("a metric that no matching trial reports has no chart", async () => {
  show({ ...VIEW, curves: [], matching: 0 });
  expect(await screen.findByText("No matching trial has reported loss.")).toBeVisible();
});
