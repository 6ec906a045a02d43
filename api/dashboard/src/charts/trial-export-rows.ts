// The trials of a chart as a table for export: a row per trial that is drawn.
import type { Cell, Rows } from "./export-file";
import { withAllDigits } from "./points-in-parts";
import { columnOf, type Points } from "./trial-columns";

export const RANK = "rank from 0 (worst) to 1 (best)";

/** By the name of the column, with its unit: the value of a row of these points, which have all digits. */
export type MoreColumns = Readonly<Record<string, (row: number, exact: Points) => Cell>>;

export async function trialRows(points: Points, rows: readonly number[], columns: MoreColumns): Promise<Rows> {
  const [numbers, states, feasible] = ["number", "state", "feasible"].map(key => columnOf(points, key));
  const exact = await withAllDigits(points);
  const more = Object.entries(columns).filter(([name]) => name !== "trial");
  const head = ["trial", "state", "feasible", ...more.map(([name]) => name)];
  return [
    head,
    ...rows.map(row => [numbers?.[row], states?.[row], feasible?.[row], ...more.map(([, of]) => cell(of(row, exact)))]),
  ];
}

function cell(value: Cell): Cell {
  return typeof value === "number" && Number.isNaN(value) ? null : value;
}
