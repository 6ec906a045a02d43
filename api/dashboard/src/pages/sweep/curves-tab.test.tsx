// The tab of curves: charts by prefix, search, settings in the URL, the legend, and empty states.
import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { gridFixture, panelFixture } from "../../curves/fixture";
import { sweepFixture } from "../../sweep/fixture";
import { type Sent, showWithService, stubSize } from "../../testing/component-test-setup";
import { CurvesTab } from "./curves-tab";

const NAMES = [
  { name: "loss", goal: "minimize" },
  ...Array.from({ length: 14 }, (_, at) => ({ name: `train/m${at}`, goal: null })),
  { name: "val/f1", goal: null },
];

function answer({ query }: Sent) {
  const grid = gridFixture(["finished", "finished", "pruned"], { matching: 1_200 });
  const lines = grid.panels[0]?.lines ?? [];
  return { ...grid, panels: query.getAll("metric").map(name => panelFixture({ name, lines })) };
}

function show(query = "", names: object[] = NAMES, state = "running") {
  stubSize(800);
  vi.stubGlobal("IntersectionObserver", undefined); // every chart is in view
  window.history.replaceState(null, "", `/sweeps/7/curves${query}`);
  const parameters = { lr: { min: 0, max: 1 }, optimizer: { values: ["adam"] } };
  const sent = showWithService(<CurvesTab sweepId={7} />, {
    "GET /sweeps/7": sweepFixture({ state, spec: { metric: { name: "loss", goal: "minimize" }, parameters } }),
    "GET /sweeps/7/metrics": names,
    "GET /sweeps/7/curve-grid": answer,
  });
  return () => sent.filter(one => one.path.endsWith("/curve-grid")).map(one => one.query);
}
const figures = () => screen.getAllByRole("figure").map(figure => figure.getAttribute("aria-label"));

afterEach(() => vi.unstubAllGlobals());

test("metrics are grouped by prefix, and a large group shows its first charts", async () => {
  show();
  expect(await screen.findByRole("figure", { name: "loss" })).toBeVisible();
  expect(screen.getAllByRole("heading", { level: 3 }).map(each => each.textContent)).toEqual([
    "▾ objectives 1",
    "▾ train/ 14",
    "▾ val/ 1",
  ]);
  expect(figures()).toHaveLength(14);
  await userEvent.click(screen.getByRole("button", { name: "Show all 14 charts" }));
  expect(figures()).toHaveLength(16);
  await userEvent.click(screen.getByRole("button", { name: "train/ 14" }));
  expect(figures()).toEqual(["loss", "val/f1"]);
  expect(window.location.search).toBe("?whole=train%252F&closed=train%252F");
});

test("a search shows the charts whose names contain it, also in closed groups", async () => {
  show("?closed=train%252F");
  await userEvent.type(await screen.findByRole("searchbox", { name: "Find metrics" }), "m13");
  expect(figures()).toEqual(["train/m13"]);
  await userEvent.type(screen.getByRole("searchbox"), "xyz");
  await userEvent.click(screen.getByRole("button", { name: "Clear search" }));
  await waitFor(() => expect(figures()).toEqual(["loss", "val/f1"]));
});

test("settings are requested and stored in the URL", async () => {
  const queries = show("?from=1&to=2");
  await userEvent.selectOptions(await screen.findByLabelText("X axis"), "running time");
  expect(window.location.search).toBe("?x=runtime"); // a range of steps is no range of seconds
  await userEvent.selectOptions(screen.getByLabelText("Color by"), "optimizer");
  await userEvent.selectOptions(screen.getByLabelText("Show"), "mean, minimum and maximum");
  await userEvent.click(screen.getByLabelText("Log y"));
  await waitFor(() => expect(queries().at(-1)?.get("show")).toBe("bands"));
  const last = queries().at(-1);
  expect([last?.get("x"), last?.get("group"), last?.get("limit")]).toEqual(["runtime", "params.optimizer", "1000"]);
  expect(window.location.search).toBe("?x=runtime&color=params.optimizer&show=bands&log=y");
});

test("another metric is the x axis after its name was chosen", async () => {
  show();
  await userEvent.selectOptions(await screen.findByLabelText("X axis"), "another metric…");
  expect(window.location.search).toBe("?x=metric%3Atrain%2Fm0");
  const input = screen.getByLabelText("Metric of the x axis");
  await userEvent.clear(input);
  await userEvent.type(input, "val/f1");
  expect(window.location.search).toBe("?x=metric%3Aval%2Ff1");
});

test("the legend hides a trial in all charts, or shows it alone", async () => {
  show();
  const legend = await screen.findByRole("list", { name: "Lines of all charts" });
  await userEvent.click(within(legend).getByRole("button", { name: "trial 0" }));
  expect(window.location.search).toBe("?hide=0");
  expect(within(legend).getByRole("button", { name: "trial 0" })).toHaveAttribute("aria-pressed", "false");
  await userEvent.click(within(legend).getByRole("button", { name: "Only trial 1" }));
  expect(screen.getAllByRole("img")[0]).toHaveAccessibleName(/^loss by step, 1 trial:/);
  await userEvent.click(screen.getByRole("button", { name: "Show all" }));
  expect(window.location.search).toBe("");
  expect(screen.getByText(/^3 of 1,200 trials: running trials first/)).toBeVisible();
});

test("keys follow a line, zoom all charts and reset the zoom", async () => {
  show();
  (await screen.findAllByRole("group", { name: /^loss by step/ }))[0]?.focus();
  await userEvent.keyboard("{ArrowRight}{ArrowRight}{ArrowDown}");
  expect(document.querySelector(".plot-tip")?.textContent).toBe("Trial 1step10loss3");
  await userEvent.keyboard("+");
  expect(window.location.search).toMatch(/^\?from=.*&to=.*/);
  await userEvent.click(screen.getByRole("button", { name: "Reset zoom" }));
  expect(window.location.search).toBe("");
});

test.each([
  ["", "running", "No curves yet"],
  ["", "finished", "No curves"],
  ["?filter=tag:none", "running", "No curves"],
])("without any metric the reason depends on the sweep and on the filter (%s, %s)", async (query, state, title) => {
  show(query, [], state);
  expect(await screen.findByRole("heading", { name: title })).toBeVisible();
});
