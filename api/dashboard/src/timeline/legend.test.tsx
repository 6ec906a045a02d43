// The legend: only what is in view, and what muted bars mean.
import { render, screen } from "@testing-library/react";
import type { Lane } from "./draw";
import { barFixture, gapFixture } from "./fixture";
import { Legend } from "./legend";

const LANE: Lane = {
  id: "cpu-0",
  bars: [barFixture(0, 10), barFixture(20, 30, { state: "failed", sweepId: 2, trialId: 120 })],
  gaps: [gapFixture(10, 20), gapFixture(50, 60, { why: "drained", reason: "" })],
};
const ALL = { from: 0, to: 100 };
const items = () => screen.getAllByRole("listitem").map(item => item.textContent?.trim());

test("states and gap reasons in view are explained", () => {
  render(<Legend lanes={[LANE]} span={ALL} sweepId={null} matching={null} />);
  expect(items()).toEqual(["✓ finished", "✕ failed", "idle", "drained"]);
});

test("states out of view are omitted", () => {
  render(<Legend lanes={[LANE]} span={{ from: 0, to: 15 }} sweepId={null} matching={null} />);
  expect(items()).toEqual(["✓ finished", "idle"]);
});

test.each([
  [1, null, "other sweeps"],
  [null, new Set([100]), "not matching the filter"],
  [1, new Set([100]), "other sweeps, and trials that do not match the filter"],
])("muted bars of sweep %s are explained as %s", (sweepId, matching, name) => {
  render(<Legend lanes={[LANE]} span={{ from: 0, to: 40 }} sweepId={sweepId} matching={matching} />);
  expect(items()).toEqual(["✓ finished", name, "idle"]);
});

test("merged bars and gaps have a note", () => {
  const merged = { ...LANE, bars: [barFixture(0, 10, { attempts: 5 })], gaps: [gapFixture(10, 20, { gaps: 3 })] };
  render(<Legend lanes={[merged]} span={ALL} sweepId={null} matching={null} />);
  expect(screen.getByText("pale: many short trials with pauses")).toBeVisible();
  expect(screen.getByText("short gaps are merged and labelled by their main reason")).toBeVisible();
});
