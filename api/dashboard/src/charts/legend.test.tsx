// The legend: the same items on the page and in a picture, in as many lines as they need.
import { render, screen } from "@testing-library/react";
import { recordingContext } from "../testing/recording-canvas";
import { drawLegend, Legend, type LegendItem, legendHeight } from "./legend";

const ITEMS: LegendItem[] = [
  { sign: "dot", token: "--accent", label: "trial" },
  { sign: "dashed", token: "--failed", label: "limit" },
  { sign: "ramp", label: "loss, worst to best by rank" },
  { sign: "note", label: "3 outliers drawn at the edge" },
];

test("every item is on the page and in the picture", () => {
  render(<Legend items={ITEMS} />);
  expect(screen.getAllByRole("listitem").map(item => item.textContent?.trim())).toEqual(
    ITEMS.map(({ label }) => label),
  );
  const { context, named } = recordingContext();
  drawLegend(context, ITEMS, 900);
  expect(named("fillText").map(({ args }) => args[0])).toEqual(ITEMS.map(({ label }) => label));
});

test("a narrow legend has several lines inside its width", () => {
  expect(legendHeight(ITEMS, 900)).toBeLessThan(legendHeight(ITEMS, 200));
  expect(legendHeight([], 200)).toBe(0);
  const { context, named } = recordingContext();
  drawLegend(context, ITEMS, 200);
  const lines = named("fillText").map(({ args }) => Number(args[2]));
  expect(new Set(lines).size).toBe(legendHeight(ITEMS, 200) / 18);
});
