// Row ranges: from the last selected row to the row clicked with the Shift key.
import { fetchTable } from "./use-table-windows";

export type Order = { sweepId: number; filter: string; sort: string };

/** The rows between two rows; if more than `most`, those nearest to the first. */
export function rangeOf(anchor: number, index: number, most: number) {
  const count = Math.abs(index - anchor) + 1;
  const limit = Math.min(count, most);
  return { offset: anchor <= index ? anchor : anchor - limit + 1, limit, cut: count > limit };
}

/** The trials in these rows, including rows that were never in view. */
export async function fetchIds(of: Order, offset: number, limit: number): Promise<readonly number[]> {
  const table = await fetchTable(of.sweepId, { filter: of.filter, sort: of.sort, offset, limit });
  return (table.columns.id ?? []) as number[];
}
