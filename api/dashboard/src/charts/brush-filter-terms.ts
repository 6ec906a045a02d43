// Converts brushes to filter terms and back: `lr:1e-4..1e-2`, `optimizer:adam,sgd`. Pure.
import { figureInFilter, figureOf } from "../trials/metric-summary-columns";
import type { Axis, Scalar } from "./axis";

/** A part of an axis: a numeric range, or some of its choices. */
export type Brush = { low: number; high: number } | { choices: readonly Scalar[] };
export type Brushes = Readonly<Record<string, Brush>>; // by the key of the axis

const TERM = /-?(?:"(?:[^"\\]|\\.)*"|[^\s"])+/g;
const NAMED_TERM = /^([a-z_]+\("(?:[^"\\]|\\.)*"\)|"(?:[^"\\]|\\.)*"|[^\s"<>=!:,-][^\s"<>=!:,]*):(.+)$/;
const VALUE = /"(?:[^"\\]|\\.)*"|[^\s",]+/g;
const PLAIN = /^[^\s"<>=!:,#-][^\s"<>=!:,]*$/;
const TABLES = /^(params|values|constraints|attrs)\./;
const ON_AXES = new Set(["value", "running_s", "duration_s", "peak_memory_mb", "peak_gpu_memory_mb"]); // of the fields
const FIELDS = new Set(
  "state number id value running_s queued_s duration_s attempt device cause sampler fallback_reason proposed_for peak_memory_mb peak_gpu_memory_mb feasible top tag note".split(
    " ",
  ),
);

/** The name of an axis in the filter language. */
export function nameOf(axis: Axis): string {
  const figure = figureOf(axis.key);
  if (figure) return figureInFilter(figure);
  const isPlain = axis.key.startsWith("params.") && !FIELDS.has(axis.name) && !TABLES.test(axis.name);
  const name = isPlain ? axis.name : axis.key;
  return quoted(name);
}

function quoted(text: string): string {
  return PLAIN.test(text) ? text : `"${text.replace(/(["\\])/g, "\\$1")}"`;
}

function unquoted(word: string): string {
  return word.startsWith('"') ? word.slice(1, -1).replace(/\\(.)/g, "$1") : word;
}

/** A rounded number for the end of a range, never inside the range. */
export function roundedEnd(value: number, upwards: boolean): string {
  if (value === 0 || !Number.isFinite(value)) return String(value);
  const size = 10 ** (Math.floor(Math.log10(Math.abs(value))) - 3);
  const round = upwards ? Math.ceil(value / size - 1e-6) : Math.floor(value / size + 1e-6);
  return String(Number((round * size).toPrecision(4)));
}

function written(axis: Axis, brush: Brush): string {
  if ("choices" in brush) return `${nameOf(axis)}:${brush.choices.map(writtenChoice).join(",")}`;
  const integerRange = axis.integer ? { low: Math.ceil(brush.low), high: Math.floor(brush.high) } : null;
  const [low, high] = integerRange
    ? [integerRange.low, integerRange.high]
    : [roundedEnd(brush.low, false), roundedEnd(brush.high, true)];
  return `${nameOf(axis)}:${low}..${high}`;
}

function writtenChoice(choice: Scalar): string {
  if (typeof choice !== "string") return String(choice);
  const looks = /^(true|false|null|none)$/i.test(choice) || choice.includes("..") || choice.includes("*");
  return looks ? `"${choice}"` : quoted(choice);
}

/** The filter without terms that may be brushes, for use before the axes are known. */
export function withoutRanges(filter: string): string {
  const isBrush = (term: string) => {
    const [, name = "", values = ""] = NAMED_TERM.exec(term) ?? [];
    const isOnAxis = !FIELDS.has(name) || ON_AXES.has(name);
    return isOnAxis && /^-?[\d.e+-]+?\.\.-?[\d.e+-]+$/i.test(values);
  };
  return (filter.match(TERM) ?? []).filter(term => !isBrush(term)).join(" ");
}

/** The brushes on these axes in a filter, and the filter without them. */
export function readBrushes(filter: string, axes: readonly Axis[]): { base: string; brushes: Brushes } {
  const brushes: Record<string, Brush> = {};
  const rest: string[] = [];
  for (const term of filter.match(TERM) ?? []) {
    const [axis, brush] = brushOf(term, axes);
    if (axis && brush && !(axis.key in brushes)) brushes[axis.key] = brush;
    else rest.push(term);
  }
  return { base: rest.join(" "), brushes };
}

function brushOf(term: string, axes: readonly Axis[]): [Axis | undefined, Brush | null] {
  const [, name, values] = NAMED_TERM.exec(term) ?? [];
  if (name === undefined || values === undefined) return [undefined, null];
  const axis = axes.find(each => [nameOf(each), quoted(each.key)].includes(name));
  return [axis, axis ? read(axis, values) : null];
}

function read(axis: Axis, values: string): Brush | null {
  if (axis.kind === "number") {
    const [, low, high] = /^([^.,"]*(?:\.\d[^.,"]*)?)\.\.(.*)$/.exec(values) ?? [];
    if (low === undefined || high === undefined || (low === "" && high === "")) return null;
    const ends = [low === "" ? axis.low : Number(low), high === "" ? axis.high : Number(high)] as const;
    return ends.some(Number.isNaN) ? null : { low: ends[0], high: ends[1] };
  }
  const words = values.match(VALUE) ?? [];
  const choices = words.map(word =>
    axis.choices.find(choice => writtenChoice(choice) === word || isSame(choice, word)),
  );
  return choices.includes(undefined) ? null : { choices: choices as Scalar[] };
}

function isSame(choice: Scalar, word: string): boolean {
  if (typeof choice === "number") return !word.startsWith('"') && Number(word) === choice;
  return typeof choice === "string" ? unquoted(word) === choice : String(choice) === word;
}

/** The filter with these brushes appended to the other terms. */
export function writeBrushes(base: string, brushes: Brushes, axes: readonly Axis[]): string {
  const terms = axes.flatMap(axis => {
    const brush = brushes[axis.key];
    return brush ? [written(axis, brush)] : [];
  });
  return [base, ...terms].filter(Boolean).join(" ");
}

/** Whether a value is inside a brush; like the service, both ends are inclusive. */
export function isIn(brush: Brush, value: Scalar | undefined): boolean {
  if ("choices" in brush) return brush.choices.includes(value ?? null);
  return typeof value === "number" && value >= brush.low && value <= brush.high;
}

/** The rows inside all brushes, as a mask. */
export function rowsIn(
  columns: Readonly<Record<string, readonly Scalar[]>>,
  brushes: Brushes,
  count: number,
): Uint8Array {
  const inside = new Uint8Array(count).fill(1);
  for (const [key, brush] of Object.entries(brushes)) {
    const column = columns[key];
    for (let row = 0; row < count; row += 1) if (!isIn(brush, column?.[row])) inside[row] = 0;
  }
  return inside;
}

export function countIn(inside: Uint8Array): number {
  let count = 0;
  for (const each of inside) count += each;
  return count;
}
