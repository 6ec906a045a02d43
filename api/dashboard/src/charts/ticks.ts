// Tick values of axes, round in the unit of the axis, with labels in one notation for all ticks of an axis. Pure.
import { ticks } from "d3-array";
import { timeTicks } from "d3-time";
import { formatDuration, grouped, minus } from "../format";

/** `duration`: seconds; `clock`: seconds since the epoch; `megabytes`: of 2^20 bytes. */
export type Unit = "duration" | "clock" | "megabytes";
export type ValueTick = { value: number; label: string };
export type ClockTick = ValueTick & { isDay: boolean }; // midnight

const [LEAST_PLAIN, MOST_PLAIN, MOST_PREFIXED] = [1e-3, 1e5, 1e9]; // outside, numbers have an exponent or a prefix
const MOST_DECIMALS = 3; // of a number with a prefix
const PREFIXES: readonly (readonly [string, number])[] = [
  ["M", 1e6],
  ["k", 1e3],
];
const DURATIONS: readonly (readonly [string, number])[] = [
  ["d", 86_400],
  ["h", 3_600],
  ["min", 60],
  ["s", 1],
  ["ms", 0.001],
];
const SIZES: readonly (readonly [string, number])[] = [
  ["TB", 1_048_576],
  ["GB", 1_024],
  ["MB", 1],
  ["kB", 1 / 1_024],
];

/** About `count` round numbers, at least two if possible: a single tick does not show the scale. */
export function numberTicks(low: number, high: number, count: number, integer = false): ValueTick[] {
  return labelled(roundNumbers(low, high, count, integer));
}

/** Decades; on a short axis also their double and fivefold. */
export function logTicks(low: number, high: number, count: number): ValueTick[] {
  const first = Math.ceil(Math.log10(low) - 1e-9);
  const last = Math.floor(Math.log10(high) + 1e-9);
  if (last - first >= 2) {
    const every = Math.max(1, Math.ceil((last - first + 1) / Math.max(1, count)));
    return labelled(decades(first, last, [1]).filter((_, index) => index % every === 0));
  }
  const values = decades(first - 1, last + 1, [1, 2, 5]).filter(value => value >= low && value <= high);
  return labelled(values.length >= 2 ? values : roundNumbers(low, high, count, false));
}

/** Ticks that are round in s, min, h or d, or in MB, GB or TB, or at round local times. */
export function unitTicks(unit: Unit, low: number, high: number, count: number): ValueTick[] {
  if (unit === "clock") return clockTicks(low, high, count);
  const [name, size] = scaleFor(unit === "duration" ? DURATIONS : SIZES, Math.max(Math.abs(low), Math.abs(high)));
  return numberTicks(low / size, high / size, count)
    .filter(({ value }) => value >= 0)
    .map(({ value, label }) => ({ value: value * size, label: value === 0 ? "0" : `${label} ${name}` }));
}

/** The label of one value with this unit, on a logarithmic axis. */
export function unitLabel(unit: Unit, value: number): string {
  if (unit === "duration") return formatDuration(value);
  const [name, size] = scaleFor(SIZES, value);
  return `${labelsOf([value / size])[0]} ${name}`;
}

/** Ticks at round local times. */
export function clockTicks(low: number, high: number, count: number): ClockTick[] {
  if (high <= low) return [];
  const values = timeTicks(new Date(low * 1000), new Date(high * 1000), Math.max(1, count));
  const isWithin = (date: Date) => date.getTime() >= low * 1000 && date.getTime() <= high * 1000;
  const step = values.length > 1 ? Number(values[1]) - Number(values[0]) : Number.POSITIVE_INFINITY;
  return values.filter(isWithin).map(date => clockTick(date, step));
}

/** Numbers in one notation: with equal decimals, with one prefix (k, M), or with exponents. */
export function labelsOf(values: readonly number[]): string[] {
  const most = Math.max(...values.map(Math.abs), 0);
  if (most === 0) return values.map(() => "0");
  const step = leastStep(values) ?? most;
  const [prefix, size] = PREFIXES.find(([, each]) => most >= each) ?? ["", 1];
  if (most >= MOST_PLAIN && most < MOST_PREFIXED && decimalsOf(step / size) <= MOST_DECIMALS)
    return withDecimals(values, size, prefix);
  return most < LEAST_PLAIN || most >= MOST_PREFIXED ? values.map(exponential) : withDecimals(values, 1, "");
}

function labelled(values: readonly number[]): ValueTick[] {
  const least = Math.min(...values.map(Math.abs));
  const isPowers = values.length > 1 && least > 0 && Math.max(...values.map(Math.abs)) / least >= 100;
  const labels = isPowers ? powerLabels(values) : labelsOf(values);
  return values.map((value, index) => ({ value, label: labels[index] as string }));
}

/** Of values over several orders of magnitude: plain numbers if all are easy to read, otherwise exponents. */
function powerLabels(values: readonly number[]): string[] {
  const isPlain = values.every(value => Math.abs(value) >= LEAST_PLAIN && Math.abs(value) < MOST_PLAIN);
  return values.map(value => (isPlain ? minus(plain(value)) : exponential(value)));
}

/** With as many decimals as it has, three at most. */
function plain(value: number): string {
  return grouped(value, Math.min(3, decimalsOf(value)));
}

function roundNumbers(low: number, high: number, count: number, integer: boolean): number[] {
  for (let wanted = Math.max(1, count); ; wanted += 1) {
    const values = ticks(low, high, wanted).filter(value => !integer || Number.isInteger(value));
    if (values.length >= 2 || wanted > count + 4) return values;
  }
}

function decades(first: number, last: number, factors: readonly number[]): number[] {
  const powers = Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => first + index);
  return powers.flatMap(power => factors.map(factor => Number(`${factor}e${power}`)));
}

function scaleFor(scales: readonly (readonly [string, number])[], most: number): readonly [string, number] {
  return scales.find(([, size]) => most >= 2 * size) ?? (scales.at(-1) as readonly [string, number]);
}

function withDecimals(values: readonly number[], size: number, suffix: string): string[] {
  const scaled = values.map(value => value / size);
  const digits = Math.min(20, Math.max(0, ...(scaled.length > 1 ? scaled : scaled.slice(0, 1)).map(decimalsOf)));
  return scaled.map(value => (value === 0 ? "0" : minus(grouped(value, digits)) + suffix));
}

/** The decimals of a number with at most 12 significant digits. */
function decimalsOf(value: number): number {
  const [, fraction = "", exponent = "0"] =
    /^-?\d+(?:\.(\d+))?(?:e([+-]\d+))?$/.exec(String(Number(value.toPrecision(12)))) ?? [];
  return Math.max(0, fraction.length - Number(exponent));
}

function leastStep(values: readonly number[]): number | null {
  const steps = values.slice(1).map((value, index) => Math.abs(value - (values[index] as number)));
  return steps.length === 0 ? null : Math.min(...steps);
}

function exponential(value: number): string {
  if (value === 0) return "0";
  return minus(Number(value.toPrecision(12)).toExponential().replace("e+", "e"));
}

function clockTick(date: Date, stepMs: number): ClockTick {
  const value = date.getTime() / 1000;
  const isDay = date.getHours() + date.getMinutes() + date.getSeconds() + date.getMilliseconds() === 0;
  if (isDay) return { value, label: `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`, isDay };
  const minutes = `${two(date.getHours())}:${two(date.getMinutes())}`;
  if (stepMs >= 60_000) return { value, label: minutes, isDay };
  const seconds = date.getSeconds() + date.getMilliseconds() / 1000;
  const digits = stepMs >= 1_000 ? 0 : Math.ceil(-Math.log10(stepMs / 1000) - 1e-9);
  return { value, label: `${minutes}:${seconds.toFixed(digits).padStart(digits > 0 ? digits + 3 : 2, "0")}`, isDay };
}

function two(value: number): string {
  return String(value).padStart(2, "0");
}
