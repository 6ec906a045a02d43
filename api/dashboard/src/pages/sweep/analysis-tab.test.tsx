// The analysis of a sweep: which charts there are, their axes, samples, and empty states.
import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { axisView, pointsOf } from "../../charts/fixture";
import type { Points } from "../../charts/trial-columns";
import { showWithService, stubSize } from "../../testing/component-test-setup";
import { pick } from "../../testing/pick";
import { AnalysisTab, withoutResult } from "./analysis-tab";

const POINTS = pointsOf(
  { value: [0.5, 0.25, 0.75], "params.lr": [0.1, 0.2, 0.3], "params.width": [16, 32, 64], "params.depth": [1, 2, 3] },
  { axes: [axisView("lr"), axisView("width"), axisView("depth")] },
);
const IMPORTANCE = {
  ...{ state: "ready", reason: "", as_of: 3, trials: 3, finished: 3, left_out: {} },
  importances: { width: 0.75, lr: 0.25 },
};

function show(points: Partial<Points> = {}, importance: object = IMPORTANCE, query = "") {
  window.history.replaceState(null, "", `/sweeps/7/analysis${query}`);
  stubSize(600);
  return showWithService(<AnalysisTab sweepId={7} />, {
    "GET /sweeps/7/metrics": ["loss", "val/loss"].map(name => ({ name, goal: null })),
    "GET /sweeps/7/points": { ...POINTS, ...points },
    "GET /sweeps/7/importance": importance,
  });
}
const headings = () => screen.getAllByRole("heading", { level: 2 }).map(heading => heading.textContent);

afterEach(() => vi.unstubAllGlobals());

test("one objective has a history, importance, parallel coordinates, a contour and slices", async () => {
  show();
  await waitFor(() =>
    expect(headings().slice(0, 4)).toEqual(["History", "Importance", "Parallel coordinates", "Contour"]),
  );
  expect(headings().slice(4, 6)).toEqual(["Rank", "Distribution"]);
  await waitFor(() => expect(headings().slice(6)).toEqual(["width", "lr", "depth", "Scatter"]));
});

test("two objectives have a Pareto front too", async () => {
  const columns = { ...POINTS.columns, "values.a": [1, 2, 3], "values.b": [3, 2, 1] };
  const objectives = [
    { name: "a", goal: "maximize" },
    { name: "b", goal: "minimize" },
  ] as Points["objectives"];
  show({ columns, objectives });
  expect(await screen.findByRole("heading", { name: "Pareto front" })).toBeVisible();
  expect(screen.getByRole("img", { name: /b against a: 1 of 3 trials are not dominated/ })).toBeTruthy();
});

test("the metric is stored in the URL, the first one is the default", async () => {
  show();
  const metric = await screen.findByLabelText("Metric");
  await pick(metric, "running time");
  expect(window.location.search).toBe("?metric=running_s");
  expect(screen.getByText("running time of each trial, and the best so far")).toBeVisible();
  await pick(screen.getByLabelText("Metric"), "loss");
  expect(window.location.search).toBe("");
});

test("peak memory is a target if it was measured", async () => {
  const sent = show({ columns: { ...POINTS.columns, peak_memory_mb: [300, 200, null] } });
  await pick(await screen.findByLabelText("Metric"), "peak memory");
  expect(window.location.search).toBe("?metric=peak_memory_mb");
  expect(screen.getByText("peak memory of each trial, and the best so far")).toBeVisible();
  await waitFor(() => expect(sent.some(({ query }) => query.get("metric") === "peak_memory_mb")).toBe(true));
});

test("a sample is announced", async () => {
  show({ shown: 3, matching: 12_000 });
  expect(
    await screen.findByText("Showing 3 of 12,000 trials: the best, and an even sample of the others."),
  ).toBeVisible();
});

test.each([
  ["computing", "Computing…", "This takes a few seconds."],
  ["failed", "Not available", "the worker died."],
  ["waiting", "Too few trials", "the worker died."],
])("an importance that is %s is explained", async (state, title, hint) => {
  show({}, { ...IMPORTANCE, importances: null, state, reason: "the worker died" });
  expect(await screen.findByRole("heading", { name: title })).toBeVisible();
  expect(screen.getByText(hint)).toBeVisible();
});

test("with a filter, the importance says that it is that of all trials", async () => {
  show({}, IMPORTANCE, "?filter=lr:<1");
  expect(await screen.findByText("Based on 3 finished trials. The filter does not apply.")).toBeVisible();
});

test("the axes of the contour are swapped when the same parameter is selected", async () => {
  show();
  const panel = (await screen.findByRole("heading", { name: "Contour" })).closest("section") as HTMLElement;
  await waitFor(() => expect(within(panel).getByLabelText("X axis")).toHaveValue("width"));
  expect(within(panel).getByLabelText("Y axis")).toHaveValue("lr");
  await pick(within(panel).getByLabelText("X axis"), "lr");
  expect(new URLSearchParams(window.location.search).get("contour")).toBe("params.lr|params.width");
  expect(within(panel).getByLabelText("Y axis")).toHaveValue("width");
});

test("brushes of the URL can be cleared", async () => {
  show({}, IMPORTANCE, "?filter=lr:0.15..0.3");
  expect((await screen.findByText(/2 of 3 trials/)).textContent).toBe("2 of 3 trials");
  await userEvent.click(screen.getByRole("button", { name: "Clear brushes" }));
  expect(screen.getByText("3 of 3 trials")).toBeVisible();
  await waitFor(() => expect(window.location.search).toBe(""));
});

test("the axes of parallel coordinates are stored in the URL", async () => {
  show({}, IMPORTANCE, "?axes=params.depth,value");
  const chart = await screen.findByRole("img", { name: /Parallel coordinates of 3 trials over depth, loss/ });
  expect(chart).toBeTruthy();
});

test("without trials there are no charts", async () => {
  show({ matching: 0, shown: 0 });
  expect(await screen.findByRole("heading", { name: "No trials yet" })).toBeVisible();
});

test("a filter without trials can be cleared", async () => {
  show({ matching: 0, shown: 0 }, IMPORTANCE, "?filter=tag:none");
  await userEvent.click(await screen.findByRole("button", { name: "Clear filter" }));
  expect(window.location.search).toBe("");
});

test("parameters beyond the first slices are counted and shown on request", async () => {
  const names = Array.from({ length: 30 }, (_, index) => `p${index}`);
  const columns = Object.fromEntries(names.map((name, index) => [`params.${name}`, [index, index + 1, index + 2]]));
  const importances = { p29: 0.5, p28: 0.25, p0: 0.1 };
  const points = pointsOf({ value: [1, 2, 3], ...columns }, { axes: names.map(name => axisView(name)) });
  show(points, { ...IMPORTANCE, importances });
  expect(await screen.findByText(/Slices of 24 of 30 parameters, the most important ones/)).toBeVisible();
  const slices = () => headings().filter(name => name?.startsWith("p"));
  expect(slices()).toHaveLength(24);
  expect(slices().slice(0, 3)).toEqual(["p29", "p28", "p0"]);
  expect(screen.getByText(/12 of 30 parameters/)).toBeVisible();
  await userEvent.click(screen.getByRole("button", { name: "Show all 30" }));
  expect(slices()).toHaveLength(30);
  expect(window.location.search).toBe("?slices=all");
  await userEvent.click(screen.getByRole("button", { name: "Show 24" }));
  expect(slices()).toHaveLength(24);
});

test("trials without a result are counted", async () => {
  const columns = { ...POINTS.columns, value: [0.5, null, null], state: ["finished", "failed", "pruned"] };
  show({ columns });
  expect(await screen.findByText("Without a result, and not drawn: 1 pruned and 1 failed trials.")).toBeVisible();
});

test("only trials inside the brushes are counted as without a result", () => {
  const points = pointsOf({ value: [0.5, null, null], state: ["finished", "failed", "failed"] });
  const counted = (...inside: number[]) => withoutResult(points, "value", Uint8Array.from(inside));
  expect(counted(1, 1, 0)).toBe("Without a result, and not drawn: 1 failed trials.");
  expect(counted(1, 0, 0)).toBe("");
});

test("no message if all ended trials have a result", async () => {
  show({ columns: { ...POINTS.columns, value: [0.5, 0.25, null], state: ["finished", "finished", "running"] } });
  await screen.findByLabelText("Metric");
  expect(screen.queryByText(/Without a result/)).toBeNull();
});

test("any logged metric can be the target of all charts, and an axis", async () => {
  const columns = { ...POINTS.columns, "min(val/loss)": [3, null, 1] };
  const sent = show({ columns });
  await pick(await screen.findByLabelText("Metric"), "min(val/loss)");
  expect(await screen.findByText("min(val/loss) of each trial, and the best so far")).toBeVisible();
  const asked = (path: string) => sent.filter(each => each.path.endsWith(path)).at(-1)?.query;
  await waitFor(() => expect(asked("/points")?.getAll("metrics")).toEqual(["min(val/loss)"]));
  await waitFor(() => expect(asked("/importance")?.get("metric")).toBe("min(val/loss)"));
  await pick(screen.getByLabelText("Add axis"), "max(val/loss)");
  await waitFor(() => expect(asked("/points")?.getAll("metrics")).toEqual(["max(val/loss)", "min(val/loss)"]));
});

test("trials without a result are drawn at their last report, and can be hidden", async () => {
  vi.stubGlobal("IntersectionObserver", undefined); // every chart is in view
  const state = ["finished", "pruned", "failed"];
  show({ columns: { ...POINTS.columns, value: [0.5, null, null], reported: [null, 0.3, 0.9], state } });
  const history = (await screen.findByRole("heading", { name: "History" })).closest("section") as HTMLElement;
  expect(within(history).getByText("1 pruned or running, last value")).toBeVisible();
  expect(within(history).getByText("1 failed, last value")).toBeVisible();
  for (const name of ["width", "Scatter"]) {
    const panel = (await screen.findByRole("heading", { name })).closest("section") as HTMLElement;
    expect(await within(panel).findByText("1 failed, last value")).toBeVisible();
  }
  expect(screen.queryByText(/Without a result/)).toBeNull();
  await userEvent.click(screen.getByLabelText("Pruned and failed trials"));
  expect(window.location.search).toBe("?unfinished=0");
  await waitFor(() => expect(screen.queryByText("1 failed, last value")).toBeNull());
  expect(screen.getByText("Without a result, and not drawn: 1 pruned and 1 failed trials.")).toBeVisible();
});

test("any two of parameters, results and metrics are drawn against each other", async () => {
  const sent = show({ columns: { ...POINTS.columns, "max(val/loss)": [3, 2, 1], "min(loss)": [1, 2, 3] } });
  const panel = (await screen.findByRole("heading", { name: "Scatter" })).closest("section") as HTMLElement;
  expect(await within(panel).findByText("loss against width. Color: loss")).toBeVisible();
  await pick(within(panel).getByLabelText("X axis"), "max(val/loss)");
  await pick(within(panel).getByLabelText("Y axis"), "min(loss)");
  expect(within(panel).getByText("min(loss) against max(val/loss). Color: loss")).toBeVisible();
  const asked = sent
    .filter(each => each.path.endsWith("/points"))
    .at(-1)
    ?.query.getAll("metrics");
  expect(asked).toEqual(["max(val/loss)", "min(loss)"]);
});
