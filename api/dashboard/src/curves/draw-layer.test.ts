// What a chart of the grid draws: gaps, single points, bands, smoothing, marks at the edges, the active line and the cursor.
import { type Axis, numberAxis } from "../charts/axis";
import { recordingContext } from "../testing/recording-canvas";
import type { Layer, Line, Mark } from "./chart-scene";
import { drawActive, drawCursor, drawLayer, scaleOf, scalesOf } from "./draw-layer";

const FRAME = { left: 100, top: 50, width: 200, height: 100 };
const STEPS = numberAxis("step", "step", [0, 10]);
const VALUES = numberAxis("loss", "loss", [0, 1]);
const LOG = numberAxis("loss", "loss", [0.01, 1], { log: true });

function lineOf(x: number[], y: number[], more: Partial<Line> = {}): Line {
  const rest = { key: "0", trialId: 100, number: 0, label: "Trial 0", raw: null, band: null, dashed: false };
  return { ...rest, x, y, colour: { token: "--series-1" }, ...more };
}

function layerOf(lines: readonly Line[], more: Partial<Layer> = {}): Layer {
  return { lines, marks: [], x: STEPS, y: VALUES, notes: [], ...more };
}

/** The calls within the clipped area, without the frame and its labels. */
function drawnIn(draw: (context: CanvasRenderingContext2D) => void) {
  const { context, calls } = recordingContext();
  draw(context);
  const start = calls.findIndex(call => call.name === "clip");
  const inside = start < 0 ? [] : calls.slice(start + 1);
  const after = inside.slice(inside.findIndex(call => call.name === "restore") + 1);
  const placesOf = (name: string, from = inside) =>
    from
      .filter(call => call.name === name)
      .map(call => call.args.slice(0, 2).map(place => Number(Number(place).toFixed(3))));
  return { inside, after, all: calls, placesOf };
}

test("values are mapped to pixels, on both kinds of axes", () => {
  expect([0, 5, 10].map(scaleOf(STEPS, 100, 200))).toEqual([100, 200, 300]);
  expect([0.01, 0.1, 1].map(scaleOf(LOG, 0, 200)).map(Math.round)).toEqual([0, 100, 200]);
  expect([0, -1].map(scaleOf(LOG, 0, 200))).toEqual([Number.NaN, Number.NaN]);
});

test("an axis of a single value has it in the middle", () => {
  const single: Axis = { ...STEPS, low: 4, high: 4 };
  expect([4, 9].map(scaleOf(single, 100, 200))).toEqual([200, 200]);
});

test("the y axis points up", () => {
  const { y } = scalesOf(layerOf([]), FRAME);
  expect([y(0), y(1)]).toEqual([150, 50]);
});

test("a line is interrupted where a value is not finite, and continues after it", () => {
  const line = lineOf([0, 2, 4, 6, 8, 10], [0, 1, Number.NaN, 1, Number.POSITIVE_INFINITY, 0]);
  const { placesOf, inside } = drawnIn(context => drawLayer(context, FRAME, layerOf([line])));
  expect(placesOf("moveTo")).toEqual([
    [100, 150],
    [220, 50],
    [300, 150],
  ]);
  expect(placesOf("lineTo")).toEqual([[140, 50]]);
  expect(inside.filter(call => call.name === "stroke")).toHaveLength(1);
});

test("a value of 0 interrupts a line on a logarithmic axis, and what is between two gaps is a dot", () => {
  const line = lineOf([0, 5, 10], [1, 0, 1]);
  const { placesOf } = drawnIn(context => drawLayer(context, FRAME, layerOf([line], { y: LOG })));
  expect(placesOf("moveTo")).toEqual([
    [100, 50],
    [300, 50],
  ]);
  expect(placesOf("lineTo")).toEqual([]);
  expect(placesOf("arc")).toEqual([
    [100, 50],
    [300, 50],
  ]);
});

test("a line of one point is a dot, but not if the point is not finite", () => {
  const one = drawnIn(context => drawLayer(context, FRAME, layerOf([lineOf([5], [0.5])])));
  expect(one.placesOf("arc")).toEqual([[200, 100]]);
  const none = drawnIn(context => drawLayer(context, FRAME, layerOf([lineOf([5], [Number.NaN])])));
  expect(none.placesOf("arc")).toEqual([]);
});

test("the first line is on top of the others", () => {
  const lines = [lineOf([0, 10], [0, 0]), lineOf([0, 10], [1, 1])];
  const { placesOf } = drawnIn(context => drawLayer(context, FRAME, layerOf(lines)));
  expect(placesOf("moveTo")).toEqual([
    [100, 50],
    [100, 150],
  ]);
});

test("a smoothed line has its raw values behind it, faint", () => {
  const line = lineOf([0, 10], [0.5, 0.5], { raw: [0, 1] });
  const { inside } = drawnIn(context => drawLayer(context, FRAME, layerOf([line])));
  const strokes = inside.filter(call => call.name === "stroke").map(call => Number(call.state.globalAlpha));
  expect(strokes).toHaveLength(2);
  expect(strokes[0]).toBeLessThan(0.5);
  expect(strokes[1]).toBe(1);
});

test("many lines are thin and translucent", () => {
  const widths = (count: number) => {
    const lines = Array.from({ length: count }, () => lineOf([0, 10], [0, 1]));
    const { inside } = drawnIn(context => drawLayer(context, FRAME, layerOf(lines)));
    return inside.find(call => call.name === "stroke")?.state;
  };
  expect(Number(widths(12)?.lineWidth)).toBeGreaterThan(Number(widths(13)?.lineWidth));
  expect([widths(12)?.globalAlpha, widths(13)?.globalAlpha]).toEqual([1, 0.8]);
});

test("a trial that ended early is dashed, and the dashes end with it", () => {
  const lines = [lineOf([0, 10], [0, 1]), lineOf([0, 10], [0, 1], { dashed: true })];
  const { inside } = drawnIn(context => drawLayer(context, FRAME, layerOf(lines)));
  const dashes = inside.filter(call => call.name === "setLineDash").map(call => (call.args[0] as number[]).length);
  expect(dashes).toEqual([2, 0, 0]);
});

test("a band is filled between minimum and maximum, there and back", () => {
  const band = { low: [0, 0.25], high: [1, 0.75], curves: [3, 3], trials: 3 };
  const line = lineOf([0, 10], [0.5, 0.5], { band, trialId: null, number: null });
  const { inside, placesOf } = drawnIn(context => drawLayer(context, FRAME, layerOf([line])));
  const filled = inside.findIndex(call => call.name === "fill");
  expect(placesOf("lineTo", inside.slice(0, filled))).toEqual([
    [100, 50],
    [300, 75],
    [300, 125],
    [100, 150],
  ]);
  expect(inside[filled]?.state.globalAlpha).toBeLessThan(0.5);
  expect(inside.find(call => call.name === "stroke")?.state.globalAlpha).toBe(1);
});

test("the minimum of a band that a logarithmic axis cannot show is at the lower edge or below it", () => {
  const band = { low: [0, -1], high: [1, 1], curves: [3, 3], trials: 3 };
  const line = lineOf([0, 10], [0.5, 0.5], { band });
  const { inside, placesOf } = drawnIn(context => drawLayer(context, FRAME, layerOf([line], { y: LOG })));
  const corners = placesOf(
    "lineTo",
    inside.slice(
      0,
      inside.findIndex(call => call.name === "fill"),
    ),
  );
  expect(corners).toHaveLength(4);
  for (const [, y] of corners.slice(2)) expect(y).toBeGreaterThanOrEqual(FRAME.top + FRAME.height);
});

function marked(value: string, x = 5) {
  const mark: Mark = { x, value, line: { colour: { token: "--series-1" }, label: "Trial 0" } };
  return drawnIn(context => drawLayer(context, FRAME, layerOf([], { marks: [mark] })));
}

test("infinities are triangles at the edge that they are beyond", () => {
  const up = marked("inf");
  expect(up.placesOf("moveTo", up.after)).toEqual([[200, 50]]);
  expect(up.placesOf("lineTo", up.after).map(([, y]) => y)).toEqual([58, 58]);
  const down = marked("-inf");
  expect(down.placesOf("moveTo", down.after)).toEqual([[200, 150]]);
  expect(down.placesOf("lineTo", down.after).map(([, y]) => y)).toEqual([142, 142]);
});

test("NaN is a cross at the bottom, and is not filled", () => {
  const { after, placesOf } = marked("nan");
  expect(placesOf("moveTo", after).map(([x]) => x)).toEqual([196.5, 203.5]);
  expect(after.filter(call => call.name === "fill")).toEqual([]);
  expect(after.filter(call => call.name === "stroke")).toHaveLength(1);
});

test("marks outside of a zoomed range are not drawn", () => {
  expect(marked("nan", 11).after).toEqual([]);
  expect(marked("inf", -1).after).toEqual([]);
});

test("the active line has an outline below it, and a dot at its point", () => {
  const line = lineOf([0, 10], [0, 1]);
  const { inside, placesOf } = drawnIn(context => drawActive(context, FRAME, layerOf([line]), line, 1));
  const widths = inside.filter(call => call.name === "stroke").map(call => call.state.lineWidth);
  expect(widths).toEqual([6, 3]);
  expect(placesOf("arc")).toEqual([[300, 50]]);
  const hovered = drawnIn(context => drawActive(context, FRAME, layerOf([line]), line, null));
  expect(hovered.placesOf("arc")).toEqual([]);
});

test("the cursor of another chart is a vertical line, if it is on this axis", () => {
  const cursorAt = (place: number, layer = layerOf([])) => {
    const { all, placesOf } = drawnIn(context => drawCursor(context, FRAME, layer, place));
    return [...placesOf("moveTo", all), ...placesOf("lineTo", all)];
  };
  expect(cursorAt(5)).toEqual([
    [200, 50],
    [200, 150],
  ]);
  expect(cursorAt(11)).toEqual([]);
  const logSteps = numberAxis("step", "step", [1, 10], { log: true });
  expect(cursorAt(0, layerOf([], { x: logSteps }))).toEqual([]);
});
