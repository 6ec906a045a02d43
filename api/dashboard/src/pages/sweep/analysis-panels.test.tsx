// Panels of the analysis by themselves: pairs of axes in the URL, axes of parallel coordinates, notes, and empty results.
import type { UseQueryResult } from "@tanstack/react-query";
import { render, renderHook, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import type { ReactNode } from "react";
import { numberAxis } from "../../charts/axis";
import { pointsOf } from "../../charts/fixture";
import type { ImportanceView } from "../../charts/importance";
import { outcomeAxes, type Points } from "../../charts/trial-columns";
import type { Brushing } from "../../charts/use-debounced-brushes";
import { sweepFixture } from "../../sweep/fixture";
import { showWithService, stubSize } from "../../testing/component-test-setup";
import { pick } from "../../testing/pick";
import {
  axisKeys,
  ContourPanel,
  HistoryPanel,
  ImportancePanel,
  LineagePanel,
  ParallelPanel,
  ParetoPanel,
  SlicePanels,
  usePair,
  useShares,
} from "./analysis-panels";

const AXES = ["a", "b", "c"].map(name => numberAxis(`params.${name}`, name, [0, 1]));
const [A, B] = AXES as [(typeof AXES)[0], (typeof AXES)[0]];
const POINTS = pointsOf({
  value: [3, 1, 2],
  ...{ "params.a": [0, 0.5, 1], "params.b": [1, 0, 0.5], "params.c": [0.2, 0.4, 0.6] },
});
const METRIC = { ...numberAxis("value", "loss", [1, 3]), goal: "minimize" as const };
const LINKED = {
  ...{ inside: new Uint8Array([1, 1, 1]), count: 3, active: null, selected: new Set<number>() },
  ...{ onActive: () => undefined, onOpen: () => undefined },
};
const param = (key: string) => new URLSearchParams(window.location.search).get(key);

function open(children: ReactNode, query = "", sweep: object = {}, metrics: string[] = []) {
  window.history.replaceState(null, "", `/sweeps/7/analysis${query}`);
  stubSize(600);
  return showWithService(children, {
    "GET /sweeps/7": sweepFixture({
      value_rule: "min",
      spec: { metric: { name: "loss", goal: "minimize" } },
      ...sweep,
    }),
    "GET /sweeps/7/metrics": metrics.map(name => ({ name, goal: null })),
    "GET /sweeps/7/intervals": [],
  });
}

beforeEach(() => window.history.replaceState(null, "", "/sweeps/7/analysis"));
afterEach(() => vi.unstubAllGlobals());

test("keys in the URL may contain commas and other signs", () => {
  expect(axisKeys("")).toEqual([]);
  expect(axisKeys(["params.a,b", "min(val/loss)"].map(encodeURIComponent).join())).toEqual([
    "params.a,b",
    "min(val/loss)",
  ]);
});

function pairOf(axes: typeof AXES, query: string) {
  window.history.replaceState(null, "", `/sweeps/7/analysis${query}`);
  const { result } = renderHook(() => usePair("contour", axes));
  const [x, y, controls] = result.current;
  return { keys: [x?.name, y?.name], hasControls: controls !== null };
}

test.each([
  ["", ["a", "b"]],
  ["?contour=params.c|params.a", ["c", "a"]],
  ["?contour=params.b|params.b", ["b", "a"]], // an axis is not drawn against itself
  ["?contour=params.gone|params.c", ["a", "c"]],
  ["?contour=params.c|params.gone", ["c", "a"]],
  ["?contour=nonsense", ["a", "b"]],
])("the pair of axes of %j is %j", (query, names) => {
  expect(pairOf(AXES, query)).toEqual({ keys: names, hasControls: true });
});

test("two axes leave nothing to select, and fewer are no pair", () => {
  expect(pairOf(AXES.slice(0, 2), "?contour=params.b|params.a")).toEqual({ keys: ["b", "a"], hasControls: false });
  expect(pairOf(AXES.slice(0, 1), "")).toEqual({ keys: ["a", undefined], hasControls: false });
  expect(pairOf([], "")).toEqual({ keys: [undefined, undefined], hasControls: false });
});

test("the ranks of results are of finished trials, those of lines also of the others", () => {
  const points = pointsOf({ value: [3, 1, 2, null], state: ["finished", "pruned", "finished", "running"] });
  const ranks = (finished: boolean) => [...renderHook(() => useShares(points, METRIC, finished)).result.current];
  expect(ranks(true)).toEqual([0, Number.NaN, 1, Number.NaN]);
  expect(ranks(false)).toEqual([0, 1, 0.5, Number.NaN]);
});

test("equal results have the same rank", () => {
  const points = pointsOf({ value: [2, 2, 1] });
  expect([...renderHook(() => useShares(points, METRIC)).result.current]).toEqual([0.25, 0.25, 1]);
});

test("the history is by trial or by time, which the URL keeps", async () => {
  open(<HistoryPanel {...LINKED} points={POINTS} metric={METRIC} sweepId={7} />, "?by=nonsense");
  const field = screen.getByLabelText("X axis");
  expect(field).toHaveValue("number");
  expect(screen.getByText("loss of each trial, and the best so far")).toBeVisible();
  await userEvent.selectOptions(field, "time");
  expect(param("by")).toBe("time");
  await userEvent.selectOptions(field, "trial");
  expect(param("by")).toBeNull();
});

test("the history says which value of a trial counts, where it is not the best one", async () => {
  open(<HistoryPanel {...LINKED} points={POINTS} metric={METRIC} sweepId={7} />, "", { value_rule: "last" });
  expect(await screen.findByText("loss of each trial, by last value, and the best so far")).toBeVisible();
});

test("the rule is of the objective, not of other metrics; without a goal there is no best", async () => {
  const metric = numberAxis("last(acc)", "last(acc)", [0, 1]);
  const points = pointsOf({ value: [1, 2], "last(acc)": [0.5, 0.7] });
  const sent = open(<HistoryPanel {...LINKED} points={points} metric={metric} sweepId={7} />, "", {
    value_rule: "last",
  });
  await waitFor(() => expect(sent.some(one => one.path === "/sweeps/7")).toBe(true));
  expect(await screen.findByText("last(acc) of each trial")).toBeVisible();
});

test("a failed request of the importance can be sent again", async () => {
  const refetch = vi.fn();
  const query = { data: undefined, isError: true, error: new Error("no worker"), refetch };
  render(<ImportancePanel query={query as unknown as UseQueryResult<ImportanceView>} filtered={false} />);
  expect(screen.getByRole("alert")).toHaveTextContent("no worker");
  await userEvent.click(screen.getByRole("button", { name: "Retry" }));
  expect(refetch).toHaveBeenCalledTimes(1);
});

test("only a population has a lineage, and only then are its intervals requested", async () => {
  const sent = open(<LineagePanel sweepId={7} />);
  await waitFor(() => expect(sent.length).toBeGreaterThan(0));
  expect(screen.queryByRole("heading", { name: "Lineage" })).toBeNull();
  expect(sent.some(one => one.path.endsWith("/intervals"))).toBe(false);
});

function parallel(query = "", more: Partial<Brushing> = {}, points: Points = POINTS, parameters = AXES) {
  const onBrushes = vi.fn();
  const charts = { parameters, outcomes: outcomeAxes(points), brushes: {}, onBrushes, onCommit: vi.fn(), ...more };
  const panel = (
    <ParallelPanel {...LINKED} sweepId={7} points={points} metric={METRIC} charts={charts as unknown as Brushing} />
  );
  const sent = open(panel, query, {}, ["acc"]);
  return { onBrushes, sent };
}
const chart = () => screen.getByRole("img", { name: /^Parallel coordinates/ }).getAttribute("aria-label");
const check = (name: string) => screen.getByRole("checkbox", { name, hidden: true });

test("by default the parameters and the objective are axes, the running time is not", () => {
  parallel();
  expect(chart()).toMatch(/over a, b, c, loss/);
  expect(check("running time")).not.toBeChecked();
});

test("an axis is removed and added again, at the end", async () => {
  parallel();
  await userEvent.click(check("b"));
  expect(param("axes")).toBe("params.a,params.c,value");
  expect(chart()).toMatch(/over a, c, loss/);
  await userEvent.click(check("b"));
  expect(param("axes")).toBe("params.a,params.c,value,params.b");
});

test("one axis is no chart of lines: the default is drawn", () => {
  parallel("?axes=params.a,params.gone");
  expect(chart()).toMatch(/over a, b, c, loss/);
});

test("a metric is added as an axis, and its key is written", async () => {
  const points = pointsOf({ ...POINTS.columns, "max(acc)": [0.1, 0.2, 0.3] });
  parallel("", {}, points);
  await waitFor(() => expect(screen.getByLabelText("Add axis")).toBeVisible());
  await pick(screen.getByLabelText("Add axis"), "max(acc)");
  expect(axisKeys(param("axes") ?? "").at(-1)).toBe("max(acc)");
  expect(chart()).toMatch(/max\(acc\)/);
});

test("parameters that are not drawn are counted in the legend", () => {
  parallel("?axes=params.a,value");
  expect(screen.getByText("1 of 3 parameters; “Select axes” adds others")).toBeVisible();
});

test("with all parameters there is no such note", () => {
  parallel();
  expect(screen.queryByText(/parameters; /)).toBeNull();
  expect(screen.queryByRole("button", { name: "Clear brushes" })).toBeNull();
});

test("brushes are cleared at once", async () => {
  const { onBrushes } = parallel("", { brushes: { "params.a": { low: 0.4, high: 1 } } });
  expect(screen.getByText(/^2 of 3 trials/)).toBeVisible();
  await userEvent.click(screen.getByRole("button", { name: "Clear brushes" }));
  expect(onBrushes.mock.calls).toEqual([[{}, true]]);
});

test("a Pareto front of three objectives has the two that are selected", async () => {
  const objectives = ["x", "y", "z"].map(name => ({
    ...numberAxis(`values.${name}`, name, [0, 1]),
    goal: "minimize" as const,
  }));
  const points = pointsOf({ "values.x": [0, 1], "values.y": [1, 0], "values.z": [0, 1] });
  open(<ParetoPanel {...LINKED} points={points} objectives={objectives} />);
  expect(screen.getByRole("img", { name: /y against x/ })).toBeTruthy();
  await pick(screen.getByLabelText("Y axis"), "z");
  expect(param("pareto")).toBe("values.x|values.z");
  expect(screen.getByRole("img", { name: /z against x/ })).toBeTruthy();
  await pick(screen.getByLabelText("Y axis"), "x");
  expect(param("pareto")).toBe("values.z|values.x");
});

test("one parameter has no contour", () => {
  const { container } = render(<ContourPanel {...LINKED} points={POINTS} metric={METRIC} parameters={[A]} />);
  expect(container).toBeEmptyDOMElement();
});

test("two parameters have one, with its metric", () => {
  open(<ContourPanel {...LINKED} points={POINTS} metric={METRIC} parameters={[A, B]} />);
  expect(screen.getByText("loss over two parameters")).toBeVisible();
  expect(screen.queryByLabelText("X axis")).toBeNull();
});

test("each parameter has a slice; without importances nothing is called important", () => {
  const many = Array.from({ length: 25 }, (_, at) => numberAxis(`params.p${at}`, `p${at}`, [0, 1]));
  open(<SlicePanels {...LINKED} points={POINTS} metric={METRIC} parameters={many} ranked={false} />);
  expect(screen.getAllByRole("heading", { level: 2 })).toHaveLength(24);
  expect(screen.getByText(/^Slices of 24 of 25 parameters\./)).toBeVisible();
  expect(within(screen.getByText(/^Slices of/)).getByRole("button")).toHaveTextContent("Show all 25");
});

test("as many slices as there is room for have no note", () => {
  open(<SlicePanels {...LINKED} points={POINTS} metric={METRIC} parameters={AXES} ranked />);
  expect(screen.getAllByRole("heading", { level: 2 }).map(each => each.textContent)).toEqual(["a", "b", "c"]);
  expect(screen.queryByText(/^Slices of/)).toBeNull();
});
