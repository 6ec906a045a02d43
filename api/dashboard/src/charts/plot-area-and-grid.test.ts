// The frame of a chart: its plot area, tick labels that do not overlap, and titles.

import { recordingContext } from "../testing/recording-canvas";
import { type Axis, numberAxis } from "./axis";
import { clipped, drawFrame, frameIn, labelsIn, xAt, yAt } from "./plot-area-and-grid";

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

const LONG = Array.from({ length: 12 }, (_, index) => `a-very-long-choice-number-${index}`);

test.each([90, 390, 1440, 2560])("labels do not overlap at a width of %d px", width => {
  const size = { width, height: 280 };
  const axes: Axis[] = [
    X,
    { ...X, low: 1_000_000, high: 9_000_000 },
    numberAxis("t", "time", [0, 90_000], { unit: "duration" }),
    numberAxis("lr", "lr", [1e-7, 10], { log: true }),
    numberAxis("s", "score", [0.731231, 0.731239]),
    { ...X, kind: "choice", choices: LONG },
  ];
  for (const x of axes) {
    for (const y of axes) {
      const frame = frameIn(size, y);
      const labels = labelsIn(frame, x, y);
      const across = labels.filter(({ of }) => of === "x");
      for (const [index, label] of across.slice(1).entries())
        expect(label.left).toBeGreaterThan((across[index]?.left ?? 0) + (across[index]?.width ?? 0));
      const up = labels.filter(({ of }) => of === "y").sort((one, other) => one.top - other.top);
      for (const [index, label] of up.slice(1).entries())
        expect(label.top).toBeGreaterThan((up[index]?.top ?? 0) + (up[index]?.height ?? 0));
      for (const { left, text } of labels) {
        expect(left).toBeGreaterThanOrEqual(-1);
        expect(text).not.toBe("");
      }
    }
  }
});

test.each([300, 390, 900])("numbers next to the y axis are never cut at a width of %d px", width => {
  for (const high of [1, 0.002, 12_345, 3e-7, 1e12, 0.98765]) {
    const y = numberAxis("value", "loss", [0, high]);
    const up = labelsIn(frameIn({ width, height: 280 }, y), X, y).filter(({ of }) => of === "y");
    expect(up.map(({ text }) => text)).toEqual(up.map(({ full }) => full));
  }
});

test("long names are cut in the middle and kept for a tooltip", () => {
  const frame = frameIn({ width: 390, height: 280 }, Y);
  const name = `val/${"very-".repeat(12)}long`;
  const labels = labelsIn(frame, { ...X, kind: "choice", choices: LONG.slice(0, 4) }, { ...Y, name });
  const choice = labels.find(({ of }) => of === "x");
  expect(choice?.text).toMatch(/^a-.*….*0$/);
  expect(choice?.full).toBe("a-very-long-choice-number-0");
  expect(labels.find(({ of }) => of === "y title")).toMatchObject({
    full: name,
    text: expect.stringMatching(/….*long$/),
  });
});

test("titles name the axis and a log scale, and labels have the unit", () => {
  const { context, named } = recordingContext();
  const log = numberAxis("value", "loss", [0.001, 10], { log: true });
  const x = numberAxis("running_s", "running_s", [0, 540], { unit: "duration" });
  drawFrame(context, frameIn(SIZE, log), x, log);
  const texts = named("fillText").map(call => call.args[0]);
  expect(texts).toContain("running time");
  expect(texts).toContain("5 min");
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

test("the last tick label ends within the chart also if it is wider than estimated", () => {
  const { context, named } = recordingContext();
  const frame = frameIn({ width: 400, height: 170 }, Y);
  drawFrame(context, frame, numberAxis("time", "time", [0, 1], { unit: "duration" }), Y);
  const ends = named("fillText").flatMap(({ args: [text, x] }) =>
    text === "1,000 ms" ? [Number(x) + context.measureText(text).width / 2] : [],
  );
  expect(ends).toEqual([400]);
});
