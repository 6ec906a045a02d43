// Ranks of results, which colours encode. Pure.
import type { Goal } from "./axis";

/** The rank of each value from 0 (worst) to 1 (best). Equal values share the mean of their ranks; if all are equal, it is 1. */
export function sharesByRank(values: Float64Array, goal: Goal | undefined): Float64Array {
  const sign = goal === "maximize" ? 1 : -1;
  const order = Uint32Array.from(values, (_, index) => index);
  order.sort((a, b) => sign * ((values[a] as number) - (values[b] as number)));
  const shares = new Float64Array(values.length);
  for (let first = 0; first < order.length; ) {
    let last = first;
    while (last + 1 < order.length && values[order[last + 1] as number] === values[order[first] as number]) last += 1;
    const isAll = first === 0 && last === order.length - 1;
    const share = isAll ? 1 : (first + last) / 2 / (order.length - 1);
    for (let place = first; place <= last; place += 1) shares[order[place] as number] = share;
    first = last + 1;
  }
  return shares;
}
