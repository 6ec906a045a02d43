import { render, screen } from "@testing-library/react";
import { expect, test } from "vitest";
import type { PrecisionScores } from "./ensemble-types-and-labels";
import { ENSEMBLE, FIGURES, memberOf } from "./fixture";
import { builtPrecisions, evaluatedPrecisions, PrecisionTable } from "./precision-comparison";

const scores = (precision: string, changes: Partial<PrecisionScores> = {}): PrecisionScores => ({
  precision,
  loss: 0.25,
  accuracy: 0.9,
  p50_us: [500, 14000],
  weights_bytes: 4000,
  process_bytes: 9000,
  error: "",
  ...changes,
});

const measured = {
  ...memberOf(0),
  precision: {
    requested: "int8",
    used: "int8",
    reason: "int8: loss +0.10%",
    rows: 180,
    device: "cpu",
    figures: [scores("float32"), scores("int8", { p50_us: [300, 2000], weights_bytes: 1000 })],
  },
};

test("only members with a lower precision are shown, each precision on a line", () => {
  const members = builtPrecisions({ ...ENSEMBLE, members: [measured, memberOf(1)] });
  render(<PrecisionTable members={members} loss="Log loss" />);
  const rows = screen.getAllByRole("row").map(row => row.textContent);
  expect(rows).toHaveLength(3);
  expect(rows[1]).toContain("float32");
  expect(rows[2]).toContain("int8served");
  expect(rows[2]).toContain("2 ms");
  expect(screen.getByRole("listitem")).toHaveTextContent("Trial 0: int8: loss +0.10%");
});

test("a member that is being measured says so", () => {
  const pending = { ...measured, precision: { ...measured.precision, used: null, reason: "", figures: [] } };
  render(<PrecisionTable members={builtPrecisions({ ...ENSEMBLE, members: [pending] })} loss="Log loss" />);
  expect(screen.getByRole("listitem")).toHaveTextContent("Trial 0: int8: being measured");
});

test("a precision that failed shows its error, and an evaluation names its members", () => {
  const result = {
    ...FIGURES,
    mode: "between_graph",
    version: 1,
    precisions: [
      {
        position: 1,
        served: "float32",
        device: "cpu",
        problem: "",
        figures: [scores("float32"), scores("int8", { p50_us: [], error: "it has no linear layer" })],
      },
    ],
  };
  render(<PrecisionTable members={evaluatedPrecisions(result, [{ name: "a" }, { name: "b" }])} loss="Log loss" />);
  expect(screen.getAllByRole("rowheader").map(cell => cell.textContent)).toEqual(["b", "b"]);
  expect(screen.getByText("it has no linear layer")).toBeInTheDocument();
});
