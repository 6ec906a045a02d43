// The lineage chart: where cells and arrows are, and what it says.
import { render, screen } from "@testing-library/react";
import { type Interval, Lineage, layoutOf, MOST_CELLS } from "./lineage";

function interval(trial: number, number: number, value: number | null, donor: number | null = null): Interval {
  return {
    trial_id: trial + 10,
    trial,
    interval: number,
    params: { lr: 0.1 },
    donor_id: donor === null ? null : donor + 10,
    donor,
    donor_interval: donor === null ? null : number - 1,
    attempt: number,
    step: 5 * number,
    value,
    started_at: "2026-11-25T10:00:00Z",
    ended_at: "2026-11-25T10:00:01Z",
  };
}

const FOUND = [interval(0, 1, 0.1), interval(0, 2, null, 1), interval(1, 1, 0.9), interval(1, 2, 0.95)];

test("an arrow leads from the donor's interval to the next one of the trial", () => {
  const { arrows, trials, first, last } = layoutOf(FOUND, "maximize");
  expect(trials).toEqual([
    { number: 0, id: 10 },
    { number: 1, id: 11 },
  ]);
  expect(arrows).toEqual([{ from: { row: 1, interval: 1 }, to: { row: 0, interval: 2 } }]);
  expect([first, last]).toEqual([1, 2]);
});

test("colours follow the rank in the direction of the goal", () => {
  const shares = (goal: "maximize" | "minimize") => layoutOf(FOUND, goal).cells.map(cell => cell.share);
  expect(shares("maximize")).toEqual([0, null, 0.5, 1]);
  expect(shares("minimize")).toEqual([1, null, 0.5, 0]);
});

test("of very many intervals, the newest are drawn", () => {
  const many = Array.from({ length: MOST_CELLS + 50 }, (_, index) => interval(0, index + 1, index));
  const { cells, first, last } = layoutOf(many, "maximize");
  expect(cells).toHaveLength(MOST_CELLS);
  expect([first, last]).toEqual([51, MOST_CELLS + 50]);
});

test("the chart is described, links trials, and names what a cell is", () => {
  render(<Lineage sweepId={1} intervals={FOUND} goal="maximize" metric="accuracy" />);
  expect(screen.getByRole("group", { name: "2 trials, 4 intervals, 1 of them continue another trial" })).toBeTruthy();
  expect(screen.getByRole("link", { name: "Trial 1" })).toHaveAttribute("href", "/sweeps/1/trials/1");
  expect(screen.getByText(/trial 0, interval 2.*has not ended.*continues trial 1, interval 1/s)).toBeTruthy();
  expect(screen.getByText(/accuracy at the end of an interval/)).toBeTruthy();
});
