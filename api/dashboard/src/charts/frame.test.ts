// The frame of a chart: its plot area, tick labels that do not overlap, and titles.

import { recordingContext } from "../testing/recording-canvas";
import { numberAxis } from "./axis";
import { clipped, drawFrame, frameIn, xAt, yAt } from "./frame";

const X = numberAxis("number", "trial", [0, 100], { integer: true });
const Y = numberAxis("value", "loss", [0, 1]);
const SIZE = { width: 600, height: 300 };

test("positions run from left to right and from bottom to top", () => {
  const frame = { left: 10, top: 20, width: 100, height: 50 };
  expect([xAt(frame, 0), xAt(frame, 1)]).toEqual([10, 110]);
  expect([yAt(frame, 0), yAt(frame, 1)]).toEqual([70, 20]);
});

test("the plot is inside its canvas", () => {
  const frame = frameIn(SIZE, Y);
  expect(frame.left).toBeGreaterThan(0);
  expect(frame.left + frame.width).toBeLessThan(SIZE.width);
  expect(frame.top + frame.height).toBeLessThan(SIZE.height);
});

test("long tick labels get more space, up to a third of the width", () => {
  const long = { ...Y, kind: "choice" as const, choices: ["a very long name of a choice", "b"] };
  expect(frameIn(SIZE, long).left).toBeGreaterThan(frameIn(SIZE, Y).left);
  expect(frameIn({ width: 90, height: 300 }, long).left).toBeLessThanOrEqual(30);
});

test("a tiny canvas still has a plot", () => {
  const { width, height } = frameIn({ width: 5, height: 5 }, Y);
  expect([width, height]).toEqual([10, 10]);
});

test("tick labels on the x axis do not overlap", () => {
  const { context, named } = recordingContext();
  const frame = { ...frameIn(SIZE, Y), width: 80 };
  drawFrame(context, frame, { ...X, low: 1_000_000, high: 9_000_000 }, Y);
  const labels = named("fillText").filter(call => call.state.textBaseline === "top");
  const places = labels.map(({ args: [text, at] }) => ({
    from: Number(at) - String(text).length * 3.1,
    to: Number(at) + String(text).length * 3.1,
  }));
  expect(labels.length).toBeGreaterThan(0);
  for (const [index, place] of places.slice(1).entries()) expect(place.from).toBeGreaterThan(places[index]?.to ?? 0);
});

test("titles name the axis, its unit and a log scale", () => {
  const { context, named } = recordingContext();
  const log = numberAxis("value", "loss", [0.001, 10], { log: true });
  drawFrame(context, frameIn(SIZE, log), numberAxis("running_s", "running_s", [0, 9]), log);
  const texts = named("fillText").map(call => call.args[0]);
  expect(texts).toContain("running time (s)");
  expect(texts).toContain("loss, log scale");
});

test("ticks beyond the frame are left out", () => {
  const { context, named } = recordingContext();
  const frame = frameIn(SIZE, Y);
  drawFrame(context, frame, X, Y);
  for (const { args } of named("moveTo").filter((_, index) => index > 0)) {
    expect(Number(args[0])).toBeGreaterThanOrEqual(frame.left - 1);
    expect(Number(args[0])).toBeLessThanOrEqual(frame.left + frame.width + 1);
  }
});

test("drawing is clipped to the plot and its margin, and the state is restored", () => {
  const { context, calls } = recordingContext();
  clipped(context, { left: 10, top: 20, width: 100, height: 50 }, () => context.fillText("inside", 0, 0), 5);
  expect(calls.map(call => call.name)).toEqual(["save", "beginPath", "rect", "clip", "fillText", "restore"]);
  expect(calls[2]?.args).toEqual([5, 15, 110, 60]);
});
