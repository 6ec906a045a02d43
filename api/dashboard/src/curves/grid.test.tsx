// The grid of charts: what it requests for its width and settings, groups, the grid of one trial, and navigation.
import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { type Sent, showWithService, stubSize } from "../testing/component-test-setup";
import { gridFixture, panelFixture } from "./fixture";
import { CurveGrid } from "./grid";

const NAMES = [
  { name: "loss", goal: "minimize" as const },
  ...Array.from({ length: 8 }, (_, at) => ({ name: `train/m${at}`, goal: null })),
];

const TWO = ["finished", "finished"];

type Shown = { query?: string; width?: number; trialId?: number; states?: string[]; more?: object };

function show({ query = "", width = 800, trialId, states = TWO, more = {} }: Shown = {}) {
  stubSize(width);
  vi.stubGlobal("IntersectionObserver", undefined); // every chart is in view
  window.history.replaceState(null, "", `/sweeps/7/curves${query}`);
  const answer = ({ query }: Sent) => {
    const grid = gridFixture(states, more);
    const lines = grid.panels[0]?.lines ?? [];
    return { ...grid, panels: query.getAll("metric").map(name => panelFixture({ name, lines })) };
  };
  const grid = (
    <CurveGrid sweepId={7} filter="tag:a" metrics={NAMES} trialId={trialId} isPlain={trialId !== undefined} />
  );
  const sent = showWithService(grid, { "GET /sweeps/7/curve-grid": answer });
  return { last: () => Object.fromEntries(sent.at(-1)?.query ?? []), sent };
}
const figures = () => screen.getAllByRole("figure").map(figure => figure.getAttribute("aria-label"));

afterEach(() => vi.unstubAllGlobals());

test("points are requested for the width of a chart, in steps, so that a small change needs no request", async () => {
  const { last, sent } = show({ width: 800 }); // two charts of 400 px
  await screen.findAllByRole("group");
  expect(last()).toMatchObject({ filter: "tag:a", x: "step", x_scale: "linear", max_points: "800", limit: "50" });
  expect(new Set(sent.map(({ query }) => query.get("max_points")))).toEqual(new Set(["800"]));
});

test("a chart on a narrow screen has the whole width", async () => {
  const { last } = show({ width: 250 });
  await screen.findAllByRole("group");
  expect(last().max_points).toBe("600");
});

test("nothing is requested before the width is known", () => {
  const { sent } = show({ width: 0 });
  expect(screen.queryByRole("figure")).toBeNull();
  expect(sent).toEqual([]);
  expect(screen.getByRole("toolbar")).toBeVisible();
});

test("the zoom, the scale and the colours are requested", async () => {
  const { last } = show({ query: "?from=2&to=9&log=x&color=tag&curves=20" });
  await screen.findAllByRole("group");
  expect(last()).toMatchObject({ x_min: "2", x_max: "9", x_scale: "log", group: "tag", limit: "20", show: "lines" });
});

test("colours by trial or by result are no groups", async () => {
  const { last } = show({ query: "?color=result" });
  await screen.findAllByRole("group");
  expect(last()).not.toHaveProperty("group");
});

test("the grid of one trial has no legend and no groups of lines, and requests one line", async () => {
  const { last } = show({ trialId: 100, query: "?show=bands&color=state" });
  await screen.findAllByRole("group");
  expect(last()).toMatchObject({ limit: "1", show: "lines" });
  expect(last()).not.toHaveProperty("group");
  expect(screen.queryByRole("list")).toBeNull();
  expect(screen.queryByRole("toolbar")).toBeNull();
  expect(screen.queryByText(/Drag over a chart/)).toBeNull();
});

test("a large group of one trial shows its first six charts, and all of them on request", async () => {
  show({ trialId: 100 });
  await waitFor(() => expect(figures()).toHaveLength(1 + 6));
  await userEvent.click(screen.getByRole("button", { name: "Show all 8 charts" }));
  expect(figures()).toHaveLength(1 + 8);
  await userEvent.click(screen.getByRole("button", { name: "Show the first 6 charts" }));
  expect(figures()).toHaveLength(1 + 6);
  expect(window.location.search).toBe("");
});

test.each([
  [{ matching: 2 }, "", "2 trials. Drag over a chart to zoom all of them."],
  [
    { matching: 1_500 },
    "",
    "2 of 1,500 trials: running trials first, then the best, then the newest. Drag over a chart to zoom all of them.",
  ],
  [{ matching: 1_500 }, "?show=bands", "2 of 1,500 trials. Drag over a chart to zoom all of them."],
])("the number of trials is written above the charts: %#", async (more, query, text) => {
  show({ more, query });
  expect(await screen.findByText(text)).toBeVisible();
});

test("a single trial is one trial", async () => {
  show({ states: ["running"] });
  expect(await screen.findByText("1 trial. Drag over a chart to zoom all of them.")).toBeVisible();
});

test("a chart is made wide and small again, alone", async () => {
  show();
  const loss = () => screen.getByRole("figure", { name: "loss" });
  await screen.findAllByRole("group");
  await userEvent.click(within(loss()).getByRole("button", { name: "Show loss wide" }));
  expect(window.location.search).toBe("?wide=loss");
  expect(document.querySelectorAll(".curve-card-wide")).toHaveLength(1);
  await userEvent.click(within(loss()).getByRole("button", { name: "Show loss small" }));
  expect(window.location.search).toBe("");
});

test("Enter on a line opens its trial; the grid of a trial opens nothing", async () => {
  show();
  (await screen.findAllByRole("group", { name: /^loss/ }))[0]?.focus();
  await userEvent.keyboard("{ArrowRight}{ArrowDown}{Enter}");
  expect(window.location.pathname).toBe("/sweeps/7/trials/1");
});

test("in the grid of one trial, Enter stays on the page", async () => {
  show({ trialId: 100 });
  (await screen.findAllByRole("group", { name: /^loss/ }))[0]?.focus();
  await userEvent.keyboard("{ArrowRight}{Enter}");
  expect(document.querySelector(".plot-tip")).toHaveTextContent("Trial 0");
  expect(window.location.pathname).toBe("/sweeps/7/curves");
});

test("a closed group stays closed, except for a search that finds something in it", async () => {
  show({ query: "?closed=train%252F" });
  await screen.findAllByRole("group");
  expect(figures()).toEqual(["loss"]);
  expect(screen.getByRole("button", { name: "train/ 8" })).toHaveAttribute("aria-expanded", "false");
  await userEvent.type(screen.getByRole("searchbox"), "m7");
  expect(figures()).toEqual(["train/m7"]);
  expect(await screen.findByRole("group", { name: /^train\/m7/ })).toBeVisible();
});

test("a search without a result names itself and the number of metrics", async () => {
  show({ query: "?find=nothing" });
  await screen.findByRole("list"); // the legend stays
  expect(await screen.findByText("No name of 9 metrics contains nothing.")).toBeVisible();
});
