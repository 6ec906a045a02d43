// The trials of a chart as a table for export: a row per trial that is drawn. Pure.
import type { Cell, Rows } from "./export-file";
import { columnOf, type Points } from "./trial-columns";

export const RANK = "rank from 0 (worst) to 1 (best)";

/** By the name of the column, with its unit: the value of a row of the points. */
export type MoreColumns = Readonly<Record<string, (row: number) => Cell>>;

export function trialRows(points: Points, rows: readonly number[], columns: MoreColumns): Rows {
  const [numbers, states, feasible] = ["number", "state", "feasible"].map(key => columnOf(points, key));
  const more = Object.entries(columns).filter(([name]) => name !== "trial");
  const head = ["trial", "state", "feasible", ...more.map(([name]) => name)];
  return [
    head,
    ...rows.map(row => [numbers?.[row], states?.[row], feasible?.[row], ...more.map(([, of]) => cell(of(row)))]),
  ];
}

function cell(value: Cell): Cell {
  return typeof value === "number" && Number.isNaN(value) ? null : value;
}
