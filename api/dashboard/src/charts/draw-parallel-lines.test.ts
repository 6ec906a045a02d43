// Lines of parallel coordinates: positions, missing values, drawing order, and the line under the pointer.

import { recordingContext } from "../testing/recording-canvas";
import { numberAxis } from "./axis";
import { SHADES } from "./colour";
import {
  axisX,
  BOTTOM,
  drawBehind,
  drawLines,
  drawOver,
  isAbsentOn,
  lineAt,
  linesOf,
  placeAt,
  placeY,
  TOP,
} from "./draw-parallel-lines";
import { pointsOf } from "./fixture";

const LR = numberAxis("params.lr", "lr", [0, 1]);
const LOSS = numberAxis("value", "loss", [0, 1]);
const SIZE = { width: 300, height: 200 };
const ALL = (count: number) => new Uint8Array(count).fill(1);

test("axes are spread over the width; a single one is centred", () => {
  expect([axisX(0, 3, 300), axisX(1, 3, 300), axisX(2, 3, 300)]).toEqual([50, 150, 250]);
  expect(axisX(0, 1, 300)).toBe(150);
});

test("positions go to pixels and back", () => {
  expect(placeY(1, 200)).toBe(TOP);
  expect(placeY(0, 200)).toBe(200 - BOTTOM);
  expect(placeAt(placeY(0.25, 200), 200)).toBeCloseTo(0.25);
  expect([placeAt(-50, 200), placeAt(900, 200)]).toEqual([1, 0]);
});

test("a missing parameter is below its axis, a missing result has no position", () => {
  const lines = linesOf(pointsOf({ "params.lr": [0.5, null], value: [0.5, null] }), [LR, LOSS]);
  expect(isAbsentOn(lines, 0)).toBe(true);
  expect(isAbsentOn(lines, 1)).toBe(false);
  expect(placeY(lines.places[0]?.[1] as number, 200)).toBeGreaterThan(200 - BOTTOM);
  expect(lines.places[1]?.[1]).toBeNaN();
});

test("a line ends where it has no result", () => {
  const lines = linesOf(pointsOf({ "params.lr": [0.5], value: [null] }), [LR, LOSS]);
  const { context, named } = recordingContext();
  drawOver(context, SIZE, lines, [0], "--accent");
  expect([named("moveTo").length, named("lineTo").length]).toEqual([1, 0]);
});

test("only lines outside the brushes are drawn behind", () => {
  const lines = linesOf(pointsOf({ "params.lr": [0, 0.5, 1], value: [0, 0.5, 1] }), [LR, LOSS]);
  const { context, named } = recordingContext();
  drawBehind(context, SIZE, lines, Uint8Array.of(1, 0, 0));
  expect(named("moveTo").map(call => call.args[1])).toEqual([placeY(0.5, 200), placeY(1, 200)]);
  expect(context.globalAlpha).toBe(1);
});

test("the best brushed line is drawn last and unknown ones first", () => {
  const lines = linesOf(pointsOf({ "params.lr": [0, 0.5, 1], value: [0, 0.5, 1] }), [LR, LOSS]);
  const { context, named } = recordingContext();
  drawLines(context, SIZE, lines, ALL(3), Float64Array.of(1, Number.NaN, 0));
  expect(named("moveTo").map(call => call.args[1])).toEqual([placeY(0.5, 200), placeY(1, 200), placeY(0, 200)]);
  expect(named("stroke").length).toBeLessThanOrEqual(SHADES + 1);
});

test("long paths are split", () => {
  const values = Array.from({ length: 130 }, (_, row) => row / 130);
  const lines = linesOf(pointsOf({ "params.lr": values, value: values }), [LR, LOSS]);
  const { context, named } = recordingContext();
  drawBehind(context, SIZE, lines, new Uint8Array(130));
  expect(named("stroke")).toHaveLength(3);
  expect(named("moveTo")).toHaveLength(130);
});

test("the nearest brushed line is found between two axes", () => {
  const lines = linesOf(pointsOf({ "params.lr": [0, 1], value: [0, 1] }), [LR, LOSS]);
  expect(lineAt(150, placeY(1, 200), SIZE, lines, ALL(2))).toBe(1);
  expect(lineAt(150, placeY(0, 200) - 3, SIZE, lines, ALL(2))).toBe(0);
  expect(lineAt(150, placeY(0.5, 200), SIZE, lines, ALL(2))).toBeNull();
  expect(lineAt(150, placeY(1, 200), SIZE, lines, Uint8Array.of(1, 0))).toBeNull();
  expect(lineAt(10, placeY(1, 200), SIZE, lines, ALL(2))).toBeNull();
});
