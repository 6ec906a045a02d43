// Learning curves as numbers: smoothing, lookup by step, ranking by last value. Pure.
import type { Schemas } from "../api";
import type { Goal } from "./axis";
import { sharesByRank } from "./ranks";

export type Curve = Pick<Schemas["CurveView"], "trial_id" | "number" | "state" | "points" | "steps" | "values">;

/** Exponential moving average: each point is `weight` of the previous one plus the rest of its own; 0 changes nothing. */
export function smoothed(values: readonly number[], weight: number): readonly number[] {
  if (weight <= 0) return values;
  let [sum, total] = [0, 0];
  return values.map(value => {
    sum = sum * weight + value;
    total = total * weight + 1; // bias correction: the first points are not drawn towards zero
    return sum / total;
  });
}

/** The index in `steps` (ascending) nearest to a step. */
export function nearestIndex(steps: readonly number[], step: number): number {
  let [low, high] = [0, steps.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((steps[middle] as number) < step) low = middle + 1;
    else high = middle;
  }
  const before = steps[low - 1];
  return before !== undefined && step - before < (steps[low] as number) - step ? low - 1 : low;
}

export function bestValue(values: readonly number[], goal: Goal | undefined): number | null {
  let best: number | null = null;
  for (const value of values)
    if (best === null || (goal === "maximize" ? value > best : goal === "minimize" ? value < best : false))
      best = value;
  return goal ? best : null;
}

/** The rank of each curve by its last value, 0 to 1; all equal without a goal. */
export function endShares(curves: readonly Curve[], goal: Goal | undefined): number[] {
  if (!goal) return curves.map(() => 0.7);
  return [
    ...sharesByRank(
      Float64Array.from(curves, curve => curve.values.at(-1) ?? 0),
      goal,
    ),
  ];
}
