// Idle time by reason: sums over devices, order, shares, and the rest.
import { render, screen, within } from "@testing-library/react";
import { lineFixture, reasonFixture } from "./fixture";
import { Reasons } from "./idle-reasons";

const cells = () =>
  screen
    .getAllByRole("row")
    .slice(1)
    .map(row => within(row).getAllByRole("cell"))
    .map(row => row.map(cell => cell.textContent));

test("the same reason on several devices is one row, the longest first", () => {
  const starting = reasonFixture(30, { why: "starting", reason: "" });
  render(
    <Reasons
      lines={[
        lineFixture("cpu-0", { reasons: [starting, reasonFixture(60)] }),
        lineFixture("cpu-1", { reasons: [reasonFixture(30, { gaps: 2 })] }),
      ]}
    />,
  );
  expect(cells()).toEqual([
    ["No sweep is runningIdle · Available", "1 min 30 s", "75 %", "3"],
    ["StartingUnavailable", "30.0 s".replace("30.0", "30"), "25 %", "1"],
  ]);
});

test("a tiny share is not rounded to nothing", () => {
  render(
    <Reasons
      lines={[lineFixture("cpu-0", { reasons: [reasonFixture(9_999), reasonFixture(1, { why: "lost", reason: "" })] })]}
    />,
  );
  expect(cells()[1]).toEqual(["Worker lostUnavailable", "1.0 s", "< 1 %", "1"]);
});

test("rare reasons are summed", () => {
  const reasons = Array.from({ length: 10 }, (_, index) => reasonFixture(100 - index, { reason: `reason ${index}` }));
  render(<Reasons lines={[lineFixture("cpu-0", { reasons })]} />);
  expect(cells()).toHaveLength(9);
  expect(cells()[8]?.slice(0, 2)).toEqual(["2 other reasons", "3 min 3 s"]);
});

test("without gaps there is no table", () => {
  render(<Reasons lines={[lineFixture("cpu-0", { reasons: [] })]} />);
  expect(screen.getByText("No idle time: every device ran trials all the time.")).toBeVisible();
  expect(screen.queryByRole("table")).toBeNull();
});
