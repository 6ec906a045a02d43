// Points on a canvas: circles for a few, one image for many; edges, order and feasibility.

import { recordingContext } from "../testing/recording-canvas";
import { token } from "../theme";
import { numberAxis } from "./axis";
import { SHADES } from "./colour";
import { drawPoints, placesOf, pointIn } from "./draw-points";

const FRAME = { left: 0, top: 0, width: 100, height: 100 };
const places = (count: number) => ({
  xs: Float64Array.from({ length: count }, (_, row) => row / count),
  ys: Float64Array.from({ length: count }, (_, row) => row / count),
  rows: Array.from({ length: count }, (_, row) => row),
});
const feasible = (count: number) => new Array<boolean>(count).fill(true);

test("positions of a column are computed once per axis", () => {
  const [axis, other] = [numberAxis("value", "loss", [0, 1]), numberAxis("value", "loss", [0, 2])];
  const column = [0, 0.5, 1];
  expect(placesOf(axis, column)).toBe(placesOf(axis, column));
  expect([...placesOf(other, column)]).toEqual([0, 0.25, 0.5]);
});

test("values beyond an end are drawn at the edge", () => {
  const beyond = { xs: Float64Array.of(-3), ys: Float64Array.of(7), rows: [0] };
  expect(pointIn(beyond, 0, FRAME)).toEqual({ x: 0, y: 0 });
});

test("few points are circles, one for each row", () => {
  const { context, named } = recordingContext();
  drawPoints(context, FRAME, places(5), undefined, feasible(5));
  expect(named("arc")).toHaveLength(5);
  expect(named("drawImage")).toHaveLength(0);
});

test("the best points are drawn last", () => {
  const { context, named } = recordingContext();
  drawPoints(context, FRAME, places(3), Float64Array.of(1, 0, 0.5), feasible(3));
  const xs = named("arc").map(call => Number(call.args[0]));
  expect(xs.map(x => Math.round((x / 100) * 3))).toEqual([1, 2, 0]);
});

test("infeasible points are rings above all others", () => {
  const { context, calls, named } = recordingContext();
  drawPoints(context, FRAME, places(2), Float64Array.of(0, 1), [false, true]);
  expect(named("stroke")).toHaveLength(1);
  expect(named("fill")).toHaveLength(SHADES);
  const last = calls.filter(call => call.name === "arc" || call.name === "stroke").slice(-2);
  expect(last.map(call => call.name)).toEqual(["arc", "stroke"]);
  expect(last[0]?.args[0]).toBe(0);
});

test("many points are one image", () => {
  const { context, named } = recordingContext();
  drawPoints(
    context,
    FRAME,
    places(500),
    Float64Array.from({ length: 500 }, () => 0.5),
    feasible(500),
  );
  expect(named("arc")).toHaveLength(0);
  expect(named("drawImage")).toHaveLength(1);
});

test("opacity is reset after drawing", () => {
  const { context } = recordingContext();
  drawPoints(context, FRAME, places(5), undefined, feasible(5));
  expect(context.globalAlpha).toBe(1);
});

const some = (count: number) =>
  Array.from({ length: count }, (_, row) => (row === 0 ? "pruned" : row === 1 ? "failed" : "finished"));

test("pruned trials are rings and failed ones crosses", () => {
  const { context, named } = recordingContext();
  drawPoints(context, FRAME, places(3), undefined, feasible(3), some(3));
  expect(named("arc")).toHaveLength(2); // the finished one, and the ring
  expect(named("lineTo")).toHaveLength(2);
  expect(
    named("stroke")
      .slice(-2)
      .map(call => call.state.strokeStyle),
  ).toEqual(["--pruned", "--failed"].map(name => token(name)));
});

test("among many, pruned and failed trials are part of the image", () => {
  const recording = recordingContext();
  const { named } = recording;
  const image = recording.context.createImageData(112, 112);
  const context = new Proxy(recording.context, {
    get: (target, key) => (key === "createImageData" ? () => image : Reflect.get(target, key)),
  });
  const xs = Float64Array.from({ length: 600 }, (_, row) => (row < 2 ? 0.5 : 0));
  drawPoints(context, FRAME, { ...places(600), xs, ys: xs }, undefined, feasible(600), some(600));
  expect([named("arc").length, named("drawImage").length]).toEqual([0, 1]);
  const middle = new Uint32Array(image.data.buffer)[56 * 112 + 56];
  expect(middle).not.toBe(0);
});
