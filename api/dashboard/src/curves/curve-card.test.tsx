// One metric of the grid: requested in view only, its messages, notes, width, and the table of its points.
import { act, fireEvent, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { showWithService, stubSize } from "../testing/component-test-setup";
import type { Grid, GridParams } from "./batch-panel-requests";
import { layerOf } from "./chart-scene";
import { CARD_HEIGHT, CurveCard, tableOf, WIDE_HEIGHT } from "./curve-card";
import { gridFixture, panelFixture, settingsFixture } from "./fixture";

const PARAMS: GridParams = { filter: "", x: "step", x_scale: "linear", max_points: 800, limit: 50, show: "lines" };
const GRID = gridFixture(["finished", "finished"]);

let seen: (isIntersecting: boolean) => void;

/** Only what the test shows is in view. */
class Scrolled {
  constructor(report: (entries: { isIntersecting: boolean }[]) => void) {
    seen = isIntersecting => act(() => report([{ isIntersecting }]));
  }
  observe() {}
  disconnect() {}
}

type Shown = { search?: string; grid?: unknown; isWide?: boolean };

function show({ search = "", grid = GRID, isWide = false }: Shown = {}) {
  stubSize(600);
  const [onWide, onHover, onOpen] = [vi.fn(), vi.fn(), vi.fn()];
  const sent = showWithService(
    <CurveCard
      sweepId={7}
      metric={{ name: "loss", goal: "minimize" }}
      params={PARAMS}
      settings={settingsFixture(search)}
      hovered={null}
      {...{ isWide, onWide, onHover, onOpen }}
    />,
    { "GET /sweeps/7/curve-grid": grid },
  );
  return { sent, onWide, onHover, onOpen };
}
const chart = () => screen.findByRole("group", { name: /^loss/ });

beforeEach(() => {
  window.history.replaceState(null, "", "/sweeps/7/curves");
  vi.stubGlobal("IntersectionObserver", Scrolled);
});
afterEach(() => vi.unstubAllGlobals());

test("a chart is requested when it comes into view, and not drawn while it is out of view", async () => {
  const { sent } = show();
  expect(screen.getByRole("figure", { name: "loss" })).toBeVisible();
  expect(sent).toEqual([]);
  seen(true);
  expect(await chart()).toBeVisible();
  expect(sent.map(({ query }) => query.getAll("metric"))).toEqual([["loss"]]);
  seen(false);
  expect(screen.queryByRole("group")).toBeNull();
  expect(screen.queryByRole("button", { name: "Export loss" })).toBeNull();
  seen(true);
  expect(await chart()).toBeVisible();
});

test("a failed request is reported in its chart and sent again on request", async () => {
  let isBroken = true;
  const answer = () => (isBroken ? Response.json({ detail: "the database is locked" }, { status: 500 }) : GRID);
  const { sent } = show({ grid: answer });
  seen(true);
  expect(await screen.findByRole("alert")).toHaveTextContent("the database is locked");
  isBroken = false;
  await userEvent.click(screen.getByRole("button", { name: "Retry" }));
  expect(await chart()).toBeVisible();
  expect(screen.queryByRole("alert")).toBeNull();
  expect(sent.length).toBeGreaterThan(1);
});

test("a metric that the service does not answer for is an error, not an empty chart", async () => {
  show({ grid: { ...GRID, panels: [panelFixture({ name: "accuracy" })] } });
  seen(true);
  expect(await screen.findByRole("alert")).toHaveTextContent("The service did not answer for loss.");
});

test("a chart without lines says why", async () => {
  show({ grid: { ...GRID, panels: [panelFixture()] } });
  seen(true);
  expect(await screen.findByText("No trial that is shown has reported it.")).toBeVisible();
});

test("a chart whose lines are all hidden says so", async () => {
  show({ search: "?hide=0,1" });
  seen(true);
  expect(await screen.findByText("Its lines are hidden in the legend.")).toBeVisible();
});

test("a chart with nothing but NaN is drawn, and its note is below it", async () => {
  const marks = [{ trial: 0, x: 3, value: "nan" as const }];
  show({ grid: { ...GRID, panels: [panelFixture({ marks })] } });
  seen(true);
  expect(await screen.findByText("Reported and not drawn: 1 × NaN (×).")).toBeVisible();
  expect(await chart()).toHaveAccessibleName(/^loss: no points\./);
});

test("a wide chart is higher and has the button to make it small", async () => {
  const { onWide } = show({ isWide: true });
  const button = screen.getByRole("button", { name: "Show loss small" });
  expect(button).toHaveAttribute("aria-pressed", "true");
  await userEvent.click(button);
  expect(onWide).toHaveBeenCalledTimes(1);
  seen(true);
  expect((await chart()).style.height).toBe(`${WIDE_HEIGHT}px`);
});

test("a small chart keeps its height before it has loaded, so that the page does not jump", () => {
  show();
  expect(screen.getByRole("button", { name: "Show loss wide" })).toHaveAttribute("aria-pressed", "false");
  const body = document.querySelector<HTMLElement>(".curve-card-body");
  expect(body?.style.minHeight).toBe(`${CARD_HEIGHT}px`);
});

test("a zoom is written to the URL, a click opens the trial", async () => {
  const { onOpen, onHover } = show();
  seen(true);
  const plot = await chart();
  plot.focus();
  await userEvent.keyboard("{ArrowRight}{Enter}+");
  expect(onOpen.mock.calls).toEqual([[0]]);
  expect(onHover).toHaveBeenLastCalledWith(100);
  await waitFor(() => expect(window.location.search).toMatch(/^\?from=.+&to=.+$/));
  fireEvent.keyDown(plot, { key: "0" });
  expect(window.location.search).toBe("");
});

const tableFor = (grid: Grid, search: string) => {
  const settings = settingsFixture(search);
  return tableOf("loss", layerOf({ grid, panel: grid.panels[0] ?? panelFixture() }, settings), settings);
};

test("the table has a row for each point that is shown, and for each mark", () => {
  const grid = gridFixture(["finished", "finished"]);
  grid.panels[0]?.marks.push({ trial: 1, x: 30, value: "nan" });
  expect(tableFor(grid, "")).toEqual([
    ["line", "step", "loss"],
    ["Trial 0", 0, 3],
    ["Trial 0", 10, 2],
    ["Trial 0", 20, 1],
    ["Trial 1", 0, 3],
    ["Trial 1", 10, 3],
    ["Trial 1", 20, 2],
    ["Trial 1", 30, "nan"],
  ]);
  expect(tableFor(grid, "?hide=1").map(([line]) => line)).toEqual(["line", "Trial 0", "Trial 0", "Trial 0"]);
});

test("the table has raw and smoothed values", () => {
  const table = tableFor(gridFixture(["finished"]), "?smooth=0.5");
  expect(table[0]).toEqual(["line", "step", "loss", "smoothed"]);
  expect(table[2]?.slice(0, 3)).toEqual(["Trial 0", 10, 2]);
  expect(table[2]?.[3]).toBeCloseTo((2 + 3 * 0.5) / 1.5);
});

test("the table of bands has the mean, the extremes and the number of trials", () => {
  const band = { group: 0, trials: 3, x: [0, 1], mean: [2, 2.5], low: [1, 0], high: [3, 9], curves: [3, 1] };
  const grid = gridFixture([], { groups: ["adam"], panels: [panelFixture({ bands: [band] })] });
  expect(tableFor(grid, "?show=bands&x=runtime")).toEqual([
    ["line", "running time (s)", "mean", "minimum", "maximum", "trials"],
    ["adam · mean of 3 trials", 0, 2, 1, 3, 3],
    ["adam · mean of 3 trials", 1, 2.5, 0, 9, 1],
  ]);
  expect(tableFor(grid, "?show=bands&smooth=0.5")[0]).toEqual([
    ...["line", "step", "mean", "smoothed", "minimum", "maximum", "trials"],
  ]);
});
