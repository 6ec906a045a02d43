// A chart axis: maps values to positions from 0 to 1, and chooses tick labels. Pure.
import { formatNumber, formatValue } from "../format";

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
  ticks?: (axis: Axis, count: number) => Tick[]; // instead of round numbers, for example round times
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

/** About `count` values to label: round numbers, or every choice. */
export function ticksOf(axis: Axis, count: number): Tick[] {
  if (axis.kind === "choice") return choiceTicks(axis, count);
  if (axis.ticks && axis.high > axis.low) return axis.ticks(axis, count);
  if (axis.high === axis.low) return [{ at: 0.5, label: formatNumber(axis.low) }];
  const values = axis.log
    ? logValues(axis.low, axis.high, count)
    : linearValues(axis.low, axis.high, count, axis.integer);
  return values.map(value => ({ at: placeOn(axis, value) ?? 0, label: formatNumber(value) }));
}

function choiceTicks(axis: Axis, count: number): Tick[] {
  const every = Math.max(1, Math.ceil(axis.choices.length / Math.max(count, 8)));
  return axis.choices
    .map((choice, index) => ({ at: (index + 0.5) / axis.choices.length, label: formatValue(choice) }))
    .filter((_, index) => index % every === 0);
}

function linearValues(low: number, high: number, count: number, integer: boolean): number[] {
  const rough = (high - low) / Math.max(1, count);
  const size = 10 ** Math.floor(Math.log10(rough));
  const round = [0.5, 1, 2, 5, 10].map(factor => factor * size);
  const fit = round.findIndex(each => each >= rough);
  if (integer) return multiples(Math.max(1, Math.round(round[fit] as number)), low, high);
  const values = multiples(round[fit] as number, low, high);
  return values.length < 2 ? multiples(round[fit - 1] as number, low, high) : values; // a single tick does not show the scale
}

function multiples(step: number, low: number, high: number): number[] {
  const first = Math.ceil(low / step - 1e-9);
  const last = Math.floor(high / step + 1e-9);
  const values: number[] = [];
  for (let index = first; index <= last; index += 1) values.push(Number((index * step).toPrecision(12)));
  return values;
}

function logValues(low: number, high: number, count: number): number[] {
  const first = Math.ceil(Math.log10(low) - 1e-9);
  const last = Math.floor(Math.log10(high) + 1e-9);
  if (last - first < 2) return within([1, 2, 5], first - 1, last + 1, low, high, count);
  const every = Math.max(1, Math.ceil((last - first + 1) / Math.max(1, count)));
  const values: number[] = [];
  for (let power = first; power <= last; power += every) values.push(Number(`1e${power}`));
  return values;
}

function within(factors: number[], first: number, last: number, low: number, high: number, count: number): number[] {
  const values: number[] = [];
  for (let power = first; power <= last; power += 1) {
    for (const factor of factors) {
      const value = Number(`${factor}e${power}`);
      if (value >= low && value <= high) values.push(value);
    }
  }
  return values.length >= 2 ? values : linearValues(low, high, count, false);
}

/** A numeric axis over the given values, with a small margin at both ends. */
export function numberAxis(
  key: string,
  name: string,
  values: Iterable<number>,
  { log = false, integer = false, goal }: { log?: boolean; integer?: boolean; goal?: Goal } = {},
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
  return { key, name, kind: "number", log, integer, low, high, choices: [], goal };
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
