// A range of rows, from the one that was chosen last to the one that is chosen with the shift key.
import { fetchTable } from "./use-table";

export type Order = { sweepId: number; filter: string; sort: string };

/** The rows from one to another, of more than `most` those nearest to the first. */
export function rangeOf(anchor: number, index: number, most: number) {
  const wanted = Math.abs(index - anchor) + 1;
  const limit = Math.min(wanted, most);
  return { offset: anchor <= index ? anchor : anchor - limit + 1, limit, cut: wanted > limit };
}

/** The trials in these rows, also those that were never in view. */
export async function fetchIds(of: Order, offset: number, limit: number): Promise<readonly number[]> {
  const table = await fetchTable(of.sweepId, { filter: of.filter, sort: of.sort, offset, limit });
  return (table.columns.id ?? []) as number[];
}
