// What a chart draws: colours, hidden lines, axes, notes on what is not drawn.
import { ticksOf } from "../charts/axis";
import type { Grid } from "./batch-panel-requests";
import { colouringOf, describeLayer, layerOf, legendOf } from "./chart-scene";
import { gridFixture, panelFixture, settingsFixture } from "./fixture";

const layer = (grid: Grid, search = "", panel = grid.panels[0] ?? panelFixture()) =>
  layerOf({ grid, panel }, settingsFixture(search));

test("few trials have a colour each, many are coloured by result", () => {
  const [few, many] = [gridFixture(["finished", "running"]), gridFixture(Array(9).fill("finished"))];
  expect(colouringOf(few, settingsFixture())).toBe("trial");
  expect(colouringOf(many, settingsFixture())).toBe("result");
  expect(colouringOf(many, settingsFixture("?color=trial"))).toBe("trial");
  const shares = legendOf(many, settingsFixture()).map(({ colour }) => ("share" in colour ? colour.share : null));
  expect(shares[0]).toBe(1);
  expect(shares.at(-1)).toBe(0.25);
});

test("by result, only finished trials have a shade, and trials that ended early are dashed", () => {
  const grid = gridFixture(["running", "finished", "pruned"]);
  const items = legendOf(grid, settingsFixture("?color=result"));
  expect(items.map(({ colour }) => ("share" in colour ? colour.share : colour.token))).toEqual([
    "--finished",
    1,
    "--text-3",
  ]);
  expect(items.map(({ dashed }) => dashed)).toEqual([false, false, true]);
});

test("hidden lines are not drawn and do not count for the axes", () => {
  const grid = gridFixture(["finished", "finished", "finished"]);
  expect(layer(grid, "?hide=0,2").lines.map(({ key }) => key)).toEqual(["1"]);
  expect(layer(grid, "?only=0&hide=0").lines.map(({ key }) => key)).toEqual(["0"]);
  expect(layer(grid, "?only=0").y.high).toBeLessThan(layer(grid).y.high);
});

test("groups hide together", () => {
  const grid = gridFixture(["finished", "finished"], { groups: ["adam", "sgd"] });
  (grid.trials[1] as { group: number }).group = 1;
  expect(legendOf(grid, settingsFixture("?color=params.o")).map(({ label }) => label)).toEqual(["adam", "sgd"]);
  expect(layer(grid, "?color=params.o&hide=adam").lines.map(({ label }) => label)).toEqual(["Trial 1 · sgd"]);
});

test("smoothing is debiased and keeps the raw line", () => {
  const [line] = layer(gridFixture(["finished"]), "?smooth=0.5").lines;
  expect(line?.raw).toEqual([3, 2, 1]);
  expect(line?.y[0]).toBe(3);
  expect(line?.y[2]).toBeCloseTo((1 + 2 * 0.5 + 3 * 0.25) / 1.75);
});

test("a zoom sets the x axis, and the y axis fits what is in the range", () => {
  const { x, y } = layer(gridFixture(["finished"]), "?from=9&to=21");
  expect([x.low, x.high]).toEqual([9, 21]);
  expect(y.high).toBeLessThan(2.1);
});

test("values that a logarithmic axis cannot show are named", () => {
  const grid = gridFixture(["finished", "finished"]);
  const panel = panelFixture({ lines: [{ trial: 0, points: 3, x: [0, 1, 2], y: [1, 0, -1] }] });
  const found = layer(grid, "?log=xy", panel);
  expect(found.notes).toEqual([
    "Values of 0 or less of 1 trial are not on the logarithmic axis.",
    "Points at step 0 or less are not on the logarithmic axis.",
  ]);
  expect(found.y.low).toBeGreaterThan(0);
  expect(found.x.low).toBeGreaterThan(0);
});

test("reports of NaN and infinities are marks of the trials that are shown", () => {
  const grid = gridFixture(["finished", "finished"]);
  const marks = [
    { trial: 0, x: 3, value: "nan" as const },
    { trial: 0, x: 5, value: "nan" as const },
    { trial: 1, x: 9, value: "inf" as const },
  ];
  const panel = panelFixture({ marks });
  expect(layer(grid, "", panel).notes).toEqual(["Reported and not drawn: 2 × NaN (×), 1 × ∞ (▲)."]);
  expect(layer(grid, "?hide=0", panel).marks.map(({ x }) => x)).toEqual([9]);
  expect(layer(grid, "", panel).x.low).toBeLessThanOrEqual(3);
});

test("outliers beyond the axis are named", () => {
  const y = [...Array(40).keys()].map(step => (step === 7 ? 1e9 : 1 + step / 100));
  const panel = panelFixture({ lines: [{ trial: 0, points: 40, x: [...y.keys()], y }] });
  const found = layer(gridFixture(["finished"]), "", panel);
  expect(found.y.high).toBeLessThan(10);
  expect(found.notes).toEqual(["Outliers of 1 trial are beyond the axis."]);
});

test("points without a value of the other metric are counted", () => {
  const panel = panelFixture({ without_x: 1_200 });
  expect(layer(gridFixture(["finished"]), "?x=metric:epoch", panel).notes).toEqual([
    "1,200 points omitted: no epoch at the same step.",
  ]);
});

test("bands have the axis of their extremes", () => {
  const grid = gridFixture([], { groups: ["adam"] });
  const band = { group: 0, trials: 3, x: [0, 1], mean: [2, 2], low: [1, 0], high: [3, 9], curves: [3, 1] };
  const found = layer(grid, "?show=bands", panelFixture({ bands: [band] }));
  expect(found.lines[0]?.label).toBe("adam · mean of 3 trials");
  expect(found.y.high).toBeGreaterThanOrEqual(9);
  expect(describeLayer("loss", found)).toBe("loss by step, 1 group: from 2 to 2.");
});

test("running time has ticks at round durations", () => {
  const panel = panelFixture({ lines: [{ trial: 0, points: 2, x: [0, 7200], y: [1, 2] }] });
  const { x } = layer(gridFixture(["finished"]), "?x=runtime", panel);
  expect(ticksOf(x, 4).map(({ label }) => label)).toEqual(["0", "0.5 h", "1.0 h", "1.5 h", "2.0 h"]);
});
