// A chart axis: maps values to positions from 0 to 1 and back; its name, unit and ticks. Pure.
import { formatValue } from "../format";
import { labelsOf, logTicks, numberTicks, type Unit, unitLabel, unitTicks, type ValueTick } from "./ticks";

export type Scalar = string | number | boolean | null;
export type Goal = "minimize" | "maximize";

export type Axis = {
  key: string; // the column, for example "params.lr"
  name: string; // display name
  kind: "number" | "choice";
  log: boolean;
  integer: boolean;
  low: number;
  high: number;
  choices: readonly Scalar[];
  goal?: Goal; // of an objective
  unit?: Unit; // of the values: its ticks are round in it, and have it in their labels
};

export type Tick = { at: number; label: string };

/** The position of a value; null if it is not on this axis. Values beyond an end have positions beyond it. */
export function placeOn(axis: Axis, value: Scalar | undefined): number | null {
  if (axis.kind === "choice") {
    const index = axis.choices.indexOf(value ?? null);
    return index < 0 ? null : (index + 0.5) / axis.choices.length;
  }
  if (typeof value !== "number" || Number.isNaN(value)) return null;
  if (axis.high === axis.low) return 0.5;
  if (!axis.log) return (value - axis.low) / (axis.high - axis.low);
  return value > 0 ? Math.log(value / axis.low) / Math.log(axis.high / axis.low) : null;
}

/** The positions of a whole column; NaN for values that are not on the axis. */
export function placesOn(axis: Axis, column: readonly (Scalar | undefined)[]): Float64Array {
  const places = new Float64Array(column.length);
  const index = new Map(axis.choices.map((choice, position) => [choice, (position + 0.5) / axis.choices.length]));
  for (let row = 0; row < column.length; row += 1) {
    const value = column[row];
    places[row] = (axis.kind === "choice" ? index.get(value ?? null) : placeOn(axis, value)) ?? Number.NaN;
  }
  return places;
}

/** The number at a position. */
export function numberAt(axis: Axis, place: number): number {
  if (axis.log) return axis.low * (axis.high / axis.low) ** place;
  return axis.low + (axis.high - axis.low) * place;
}

/** The number or the choice at a position. */
export function valueAt(axis: Axis, place: number): Scalar {
  if (axis.kind !== "choice") return numberAt(axis, place);
  return axis.choices[Math.min(axis.choices.length - 1, Math.floor(place * axis.choices.length))] ?? null;
}

const TICKS = new WeakMap<Axis, Map<number, Tick[]>>(); // a chart asks several times in each drawing

/** About `count` values to label: round ones, or every n-th choice. */
export function ticksOf(axis: Axis, count: number): readonly Tick[] {
  const ofAxis = TICKS.get(axis) ?? new Map<number, Tick[]>();
  TICKS.set(axis, ofAxis);
  const found = ofAxis.get(count) ?? computedTicks(axis, count);
  ofAxis.set(count, found);
  return found;
}

function computedTicks(axis: Axis, count: number): Tick[] {
  if (axis.kind === "choice") return choiceTicks(axis, count);
  if (axis.high === axis.low) return [{ at: 0.5, label: labelsOf([axis.low])[0] as string }];
  return valueTicks(axis, count).map(({ value, label }) => ({ at: placeOn(axis, value) ?? 0, label }));
}

function valueTicks({ low, high, log, unit, integer }: Axis, count: number): ValueTick[] {
  if (!log) return unit ? unitTicks(unit, low, high, count) : numberTicks(low, high, count, integer);
  const found = logTicks(low, high, count);
  return unit ? found.map(({ value }) => ({ value, label: unitLabel(unit, value) })) : found;
}

function choiceTicks(axis: Axis, count: number): Tick[] {
  const every = Math.max(1, Math.ceil(axis.choices.length / Math.max(1, count)));
  return axis.choices
    .map((choice, index) => ({ at: (index + 0.5) / axis.choices.length, label: formatValue(choice) }))
    .filter((_, index) => index % every === 0);
}

/** What is measured of every trial, usable like a metric: less is better. */
export const MEASURED: Readonly<Record<string, { title: string; unit: Unit }>> = {
  running_s: { title: "running time", unit: "duration" },
  peak_memory_mb: { title: "peak memory", unit: "megabytes" },
  peak_gpu_memory_mb: { title: "peak GPU memory", unit: "megabytes" },
};

/** The name of an axis for people. */
export function titleOf({ key, name }: Pick<Axis, "key" | "name">): string {
  return MEASURED[key]?.title ?? name;
}

const UNIT_NAMES: Record<Unit, string> = { duration: "s", clock: "seconds since 1970", megabytes: "MB" };

/** The name of a column of its values: with the unit. */
export function columnNameOf(axis: Axis): string {
  return axis.unit ? `${titleOf(axis)} (${UNIT_NAMES[axis.unit]})` : titleOf(axis);
}

/** A numeric axis over the given values, with a small margin at both ends. */
export function numberAxis(
  key: string,
  name: string,
  values: Iterable<number>,
  { log = false, integer = false, goal, unit }: { log?: boolean; integer?: boolean; goal?: Goal; unit?: Unit } = {},
): Axis {
  let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const value of values) {
    if (!Number.isFinite(value) || (log && value <= 0)) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  if (low > high) [low, high] = log ? [0.1, 1] : [0, 1];
  else if (low === high)
    [low, high] = log ? [low / 2, high * 2] : [low - (Math.abs(low) || 1) / 20, high + (Math.abs(high) || 1) / 20];
  return { key, name, kind: "number", log, integer, low, high, choices: [], goal, unit };
}

/** The axis with a margin at both ends, so that no point overlaps the frame. */
export function withRoom(axis: Axis, share = 0.04): Axis {
  if (axis.kind === "choice") return axis;
  return { ...axis, low: numberAt(axis, -share), high: numberAt(axis, 1 + share) };
}

/** The axis of an objective without outliers: one loss of 1e30 would flatten all other values. Values beyond the end are drawn at the edge with a note. */
export function robustAxis(axis: Axis, values: readonly number[]): Axis {
  if (axis.log || values.length < 8) return axis;
  const sorted = Float64Array.from(values.filter(Number.isFinite)).sort();
  if (sorted.length < 8) return axis;
  const at = (share: number) => sorted[Math.round(share * (sorted.length - 1))] as number;
  const body = at(0.9) - at(0.1) || axis.high - axis.low;
  const low = axis.goal === "minimize" || at(0.1) - axis.low < 4 * body ? axis.low : at(0.1) - body;
  const high = axis.goal === "maximize" || axis.high - at(0.9) < 4 * body ? axis.high : at(0.9) + body;
  return { ...axis, low, high };
}
