// The report of an evaluation: scores, warnings, disagreement and degradation.
import { render, screen, within } from "@testing-library/react";
import { FIGURES } from "./fixture";
import { verdict } from "./member-score-comparison";
import { quorumText } from "./quality-with-missing-members";
import { formatScore } from "./score-metrics";
import { ReportGrid, ReportSummary, rowsText } from "./score-report";

const MEMBERS = [{ name: "Trial 0", href: "/trials/11" }, { name: "Trial 1" }];

test.each([
  [[0.01, 0.2], "more", "better"],
  [[-0.2, -0.01], "more", "worse"],
  [[-0.2, -0.01], "less", "better"],
  [[-0.1, 0.1], "more", "no significant difference on these rows"],
] as const)("the interval %s, %s being better, is %s", (range, better, text) => {
  expect(verdict(range, better)).toBe(text);
});

test("renders the ensemble next to its members and names the best member", () => {
  render(<ReportSummary figures={FIGURES} members={MEMBERS} />);
  const [, own, first, second] = screen.getAllByRole("row");
  expect(own).toHaveTextContent("Ensemble0.8750");
  expect(first).toHaveTextContent("Trial 0best single0.7500");
  expect(second).not.toHaveTextContent("best single");
  expect(within(first as HTMLElement).getByRole("link")).toHaveAttribute("href", "/trials/11");
  expect(screen.getByText("better")).toBeInTheDocument();
  expect(screen.getByText("no significant difference on these rows")).toBeInTheDocument();
  expect(screen.getByText(/the ensemble on 1 row, the best single network on 0 rows/)).toBeInTheDocument();
});

test("warnings about the scores come first", () => {
  render(<ReportSummary figures={{ ...FIGURES, flags: ["chosen on it"] }} members={MEMBERS} />);
  expect(screen.getByText("Caveat: chosen on it.")).toBeInTheDocument();
});

test("renders disagreement and degradation as tables", () => {
  render(<ReportGrid figures={FIGURES} members={MEMBERS} />);
  expect(screen.getByText(/different labels on 25.0 % of the rows/)).toBeInTheDocument();
  expect(screen.getByRole("row", { name: "1 of 2 2 0.6250 0.6875" })).toBeInTheDocument();
});

test("a single member has no disagreement", () => {
  render(
    <ReportGrid
      figures={{ ...FIGURES, disagreement: [[0]], members: FIGURES.members.slice(0, 1) }}
      members={MEMBERS}
    />,
  );
  expect(screen.getByText(/there is no disagreement/)).toBeInTheDocument();
});

test("reports the safe quorum and warns if the current one is too small", () => {
  expect(quorumText(FIGURES)).toContain("The quorum is only 1: a degraded prediction may be worse.");
  expect(quorumText({ ...FIGURES, quorum: 2 })).toContain("With at least 2 of 2 members");
  const never = { ...FIGURES, degradation: { ...FIGURES.degradation, safe_quorum: null } };
  expect(quorumText(never)).toContain("No quorum is safe");
});

test("reports the number of rows, and the total if only some were evaluated", () => {
  expect(rowsText(360, "test")).toBe("360 test rows");
  expect(rowsText(2000, "calibration", 6000)).toBe("2,000 of the 6,000 calibration rows");
  expect(rowsText(5, "posted")).toBe("5 custom rows");
});

test.each([
  [0.97214, "0.9721"],
  [0, "0.0000"],
  [0.0001234, "0.000123"],
  [51.8866, "51.887"],
  [-217.8325, "−217.83"],
  [null, "–"],
])("the score %s is shown as %s", (value, text) => expect(formatScore(value)).toBe(text));
