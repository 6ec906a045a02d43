// What the line chart draws: lines inside the frame, single points as dots, and marks with their names.
import { recordingContext } from "../testing/recording-canvas";
import { axesOf, drawLineChart, type Series } from "./draw-line-chart";

const SERIES: Series[] = [
  {
    name: "Mean",
    tone: 1,
    points: [
      [1, 0.5],
      [4, 0.875],
    ],
  },
];

function draw(series: readonly Series[], more: { until?: { x: number; name: string } } = {}) {
  const { context, named } = recordingContext();
  const axes = axesOf(series, { x: "Members", y: "Accuracy" }, { integer: true });
  drawLineChart(context, { width: 400, height: 240 }, { series, ...axes, ...more });
  return named;
}

test("the first and the last point do not touch the frame", () => {
  const named = draw(SERIES);
  const width = Number(named("rect")[0]?.args[2]);
  const xs = named("lineTo").map(({ args: [x] }) => Number(x));
  const [first, last] = xs.slice(-2) as [number, number];
  expect(last - first).toBeGreaterThan(0.9 * width);
  expect(last).toBeLessThan(400 - 14);
});

test("a single point is a dot", () => {
  expect(draw([{ name: "One", tone: 1, points: [[3, 0.5]] }])("arc")).toHaveLength(1);
});

test("a mark is labelled on the side with space", () => {
  const side = (x: number) =>
    draw(SERIES, { until: { x, name: "safe" } })("fillText").find(({ args }) => args[0] === "safe")?.state.textAlign;
  expect([side(1), side(4)]).toEqual(["left", "right"]);
});
