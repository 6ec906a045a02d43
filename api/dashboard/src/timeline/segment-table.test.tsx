// The timeline as a table: the newest first, links to trials, and a limit on its length.
import { render, screen, within } from "@testing-library/react";
import type { Lane } from "./draw";
import { barFixture, gapFixture } from "./fixture";
import { SegmentTable } from "./segment-table";

const NAMES = { 1: "resnet" };
const lane = (changes: Partial<Lane> = {}): Lane => ({
  id: "cpu-0",
  bars: [barFixture(0, 10)],
  gaps: [gapFixture(10, 40)],
  ...changes,
});
const rows = () => screen.getAllByRole("row").slice(1);

test("segments are listed with the newest first", () => {
  render(<SegmentTable lanes={[lane()]} span={{ from: 0, to: 100 }} names={NAMES} />);
  const texts = rows().map(row =>
    within(row)
      .getAllByRole("cell")
      .map(cell => cell.textContent),
  );
  expect(texts.map(row => row.slice(1))).toEqual([
    ["cpu-0", "Idle: No sweep is running", "30 s"],
    ["cpu-0", "✓finished Trial 0 of resnet", "10 s"],
  ]);
});

test("a bar of one trial links to it, a merged one does not", () => {
  const merged = barFixture(50, 60, { attempts: 9, failed: 2, trialId: null, number: 3, lastNumber: 11 });
  render(
    <SegmentTable lanes={[lane({ bars: [barFixture(0, 10), merged] })]} span={{ from: 0, to: 100 }} names={NAMES} />,
  );
  expect(screen.getAllByRole("link").map(link => link.getAttribute("href"))).toEqual(["/sweeps/1/trials/0"]);
  expect(screen.getByText("9 short trials of resnet (3 to 11), 2 failed")).toBeVisible();
});

test("merged gaps show their number", () => {
  render(
    <SegmentTable
      lanes={[lane({ gaps: [gapFixture(10, 20, { gaps: 1_200, reason: "", why: "between" })] })]}
      span={{ from: 0, to: 100 }}
      names={NAMES}
    />,
  );
  expect(screen.getByText("Between two trials (1,200 short gaps, mainly for this reason)")).toBeVisible();
});

test("only the longest of many are listed", () => {
  const bars = Array.from({ length: 250 }, (_, index) => barFixture(index * 10, index * 10 + (index === 7 ? 9 : 5)));
  render(<SegmentTable lanes={[lane({ bars, gaps: [] })]} span={{ from: 0, to: 2_500 }} names={NAMES} />);
  expect(rows()).toHaveLength(200);
  expect(screen.getByText("Showing the longest 200 of 250; zoom in to see more.")).toBeVisible();
  expect(screen.getByText("9.0 s")).toBeVisible();
});

test("an empty span shows a message", () => {
  render(<SegmentTable lanes={[lane()]} span={{ from: 500, to: 600 }} names={NAMES} />);
  expect(screen.getByRole("heading", { name: "No recorded activity" })).toBeVisible();
});
