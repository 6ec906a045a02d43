// Whether axes of results are logarithmic: what the user chose in the URL, otherwise where the results span decades.
import { useMemo } from "react";
import { useQueryState } from "../url-query-state";
import { type Axis, numberAxis } from "./axis";
import { numbersOf, type Points } from "./trial-columns";

const [LEAST_SPAN, LEAST_BODY] = [1_000, 10]; // the highest result over the lowest, and of the middle 80 % of them

/** Undefined: by the results of each axis. */
export type LogChoice = boolean | undefined;

export function useLogChoice(): LogChoice {
  const [text] = useQueryState("log");
  return text === "1" ? true : text === "0" ? false : undefined;
}

/** The checkbox for a metric; the choice is in the URL where it differs from the default. */
export function useLogCheckbox(points: Points, metric: Axis | undefined): [boolean, (on: boolean) => void] {
  const choice = useLogChoice();
  const [, set] = useQueryState("log");
  const byDefault = useMemo(
    () => metric !== undefined && spansDecades(numbersOf(points, metric.key)),
    [points, metric],
  );
  return [choice ?? byDefault, on => set(on === byDefault ? "" : on ? "1" : "0")];
}

/**
 * Whether these are positive and span at least three decades, most of them at least one: a few diverged trials do not
 * make an axis logarithmic, they are drawn at its edge.
 */
export function spansDecades(values: readonly number[]): boolean {
  const sorted = Float64Array.from(values).filter(Number.isFinite).sort();
  const at = (share: number) => sorted[Math.round(share * (sorted.length - 1))] as number;
  if (sorted.length < 2 || at(0) <= 0) return false;
  return at(1) / at(0) >= LEAST_SPAN && at(0.9) / at(0.1) >= LEAST_BODY;
}

/** Whether the axis of these results is logarithmic: never with values that are not positive. */
export function isLogScale(choice: LogChoice, values: readonly number[]): boolean {
  return choice === undefined ? spansDecades(values) : choice && values.every(value => value > 0);
}

/** The axis of a result, logarithmic where it should be; that of a parameter as it is. */
export function scaledAxis(axis: Axis, points: Points, choice: LogChoice): Axis {
  if (axis.kind === "choice" || axis.log || axis.key.startsWith("params.")) return axis;
  const values = numbersOf(points, axis.key);
  if (!isLogScale(choice, values)) return axis;
  const { key, name, goal, unit } = axis;
  return numberAxis(key, name, values, { log: true, goal, unit });
}
