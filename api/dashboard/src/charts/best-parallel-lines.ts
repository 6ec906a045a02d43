// The best trials among the brushed ones, highlighted above the density of thousands of lines. Pure.
import type { Axis } from "./axis";
import { countIn } from "./brush-filter-terms";
import { columnOf, type Points } from "./trial-columns";

const MOST = 50;
const SHARE = 0.1; // of the trials, at most

/** Rows that can be the best, best first, with their values. */
export type Ranking = readonly { row: number; value: number }[];

/** Finished and feasible trials; none if no direction is better. */
export function rankingOf(points: Points, { key, goal }: Axis): Ranking {
  if (goal === undefined) return [];
  const [states, feasible] = [columnOf(points, "state"), columnOf(points, "feasible")];
  const sign = goal === "maximize" ? -1 : 1;
  return columnOf(points, key)
    .flatMap((value, row) =>
      typeof value === "number" && states[row] === "finished" && feasible[row] === true ? [{ row, value }] : [],
    )
    .sort((one, other) => sign * (one.value - other.value));
}

/** The best rows inside, at most 50 and a tenth of them; of trials that are equal at the limit, none. */
export function bestInside(ranking: Ranking, inside: Uint8Array): number[] {
  const most = Math.min(MOST, Math.floor(SHARE * countIn(inside)));
  const found: { row: number; value: number }[] = [];
  for (const each of ranking) {
    if (found.length > most) break;
    if (inside[each.row]) found.push(each);
  }
  const next = found[most];
  return found.slice(0, most).flatMap(({ row, value }) => (value === next?.value ? [] : [row]));
}
