// What one chart of the grid draws: lines or bands with colours, marks of NaN and infinities, axes, and notes. Pure.
import { type Axis, numberAxis, robustAxis, withRoom } from "../charts/axis";
import { smoothed } from "../charts/curve-values";
import type { Unit } from "../charts/ticks";
import { formatCount } from "../format";
import { SERIES } from "../theme";
import type { Grid, Loaded, PanelData } from "./batch-panel-requests";
import { nameOfX, type Settings } from "./settings";

/** A token of the theme, or a share of the ramp from worst (0) to best. */
export type Colour = { token: string } | { share: number };

export type Line = {
  key: string; // of the legend
  trialId: number | null; // null: a band
  number: number | null;
  label: string;
  x: readonly number[];
  y: readonly number[]; // smoothed
  raw: readonly number[] | null; // drawn faint, if it is smoothed
  band: { low: readonly number[]; high: readonly number[]; curves: readonly number[]; trials: number } | null;
  colour: Colour;
  dashed: boolean;
};

export type Mark = { x: number; value: string; line: Pick<Line, "colour" | "label"> };
export type LegendItem = { key: string; label: string; colour: Colour; dashed: boolean };
export type Layer = { lines: readonly Line[]; marks: readonly Mark[]; x: Axis; y: Axis; notes: readonly string[] };

const UNITS: Record<string, Unit> = { time: "clock", runtime: "duration" };
const ROOM = 0.02; // at both ends of the x axis: the first and the last point do not touch the frame
const FEW = 8; // trials that have a colour each; more are coloured by result
const RUNNING_TOKEN = "--finished";

/** How lines are coloured: by `trial`, `result` or `group`. */
export function colouringOf(grid: Grid, settings: Settings): "trial" | "result" | "group" {
  if (grid.groups.length > 1 || settings.bands || /^(state|tag|params\.)/.test(settings.color)) return "group";
  if (settings.color === "trial" || settings.color === "result") return settings.color;
  return grid.trials.length <= FEW ? "trial" : "result";
}

/** The entries of the legend: groups, or trials. */
export function legendOf(grid: Grid, settings: Settings): LegendItem[] {
  const how = colouringOf(grid, settings);
  if (how === "group")
    return grid.groups.map((label, index) => ({ key: label, label, colour: seriesColour(index), dashed: false }));
  const colours = trialColours(grid, how);
  return grid.trials.map((trial, index) => ({
    key: String(trial.number),
    label: `trial ${trial.number}`,
    colour: colours[index] as Colour,
    dashed: isBroken(trial.state),
  }));
}

export function isShown(key: string, { hidden, only }: Settings): boolean {
  return only === "" ? !hidden.has(key) : only === key;
}

export function layerOf(loaded: Loaded, settings: Settings): Layer {
  const { panel, grid } = loaded;
  const lines = panel.bands.length > 0 ? bandLines(panel, grid, settings) : trialLines(panel, grid, settings);
  const shown = lines.filter(line => isShown(line.key, settings));
  const marks = marksOf(panel, grid, settings);
  const { x, y } = axesOf(shown, marks, panel, settings);
  return { lines: shown, marks, x, y, notes: notesOf(shown, marks, panel, settings, y) };
}

function trialLines(panel: PanelData, grid: Grid, settings: Settings): Line[] {
  const how = colouringOf(grid, settings);
  const colours = how === "group" ? [] : trialColours(grid, how);
  return panel.lines.map(({ trial: index, x, y }) => {
    const trial = grid.trials[index] as Grid["trials"][number];
    const group = grid.groups[trial.group] ?? "";
    return {
      key: how === "group" ? group : String(trial.number),
      trialId: trial.id,
      number: trial.number,
      label: how === "group" && grid.groups.length > 1 ? `Trial ${trial.number} · ${group}` : `Trial ${trial.number}`,
      x,
      y: smoothed(y, settings.smooth),
      raw: settings.smooth > 0 ? y : null,
      band: null,
      colour: how === "group" ? seriesColour(trial.group) : (colours[index] as Colour),
      dashed: isBroken(trial.state),
    };
  });
}

function bandLines(panel: PanelData, grid: Grid, settings: Settings): Line[] {
  return panel.bands.map(({ group, trials, x, mean, low, high, curves }) => ({
    key: grid.groups[group] ?? "",
    trialId: null,
    number: null,
    label: `${grid.groups[group]} · mean of ${formatCount(trials)} ${trials === 1 ? "trial" : "trials"}`,
    x,
    y: smoothed(mean, settings.smooth),
    raw: settings.smooth > 0 ? mean : null,
    band: { low, high, curves, trials },
    colour: seriesColour(group),
    dashed: false,
  }));
}

function seriesColour(index: number): Colour {
  return { token: SERIES[index % SERIES.length] as string };
}

/** Colours of trials; of results by their order in the response: running first, then from best to worst. */
function trialColours(grid: Grid, how: "trial" | "result"): Colour[] {
  if (how === "trial") return grid.trials.map((_, index) => seriesColour(index));
  const finished = grid.trials.filter(({ state }) => state === "finished").length;
  let rank = 0;
  return grid.trials.map(({ state }) => {
    if (state === "running") return { token: RUNNING_TOKEN };
    if (state !== "finished") return { token: "--text-3" };
    rank += 1;
    return { share: finished === 1 ? 1 : 0.25 + 0.75 * (1 - (rank - 1) / (finished - 1)) };
  });
}

function isBroken(state: string): boolean {
  return state !== "finished" && state !== "running";
}

function marksOf(panel: PanelData, grid: Grid, settings: Settings): Mark[] {
  const legend = legendOf(grid, settings);
  const isGrouped = colouringOf(grid, settings) === "group";
  return panel.marks.flatMap(({ trial: index, x, value }) => {
    const trial = grid.trials[index];
    const item = trial && legend[isGrouped ? trial.group : index];
    if (!trial || !item || !isShown(item.key, settings)) return [];
    return [{ x, value, line: { colour: item.colour, label: `Trial ${trial.number}` } }];
  });
}

function axesOf(lines: readonly Line[], marks: readonly Mark[], panel: PanelData, settings: Settings) {
  const { range, logX, logY } = settings;
  const values = lines.flatMap(line => valuesIn(line, settings));
  const y = numberAxis(panel.name, "", values, { log: logY, goal: panel.goal ?? undefined });
  const places = [...lines.flatMap(line => extentOf(line.x, logX)), ...marks.map(mark => mark.x)];
  const name = nameOfX(settings.x);
  const kind = { log: logX, integer: settings.x === "step", unit: UNITS[settings.x] };
  const whole = withRoom(numberAxis("x", name, places, kind), ROOM);
  const isUsable = range && (!logX || range.from > 0);
  const x: Axis = isUsable ? { ...whole, low: range.from, high: range.to } : whole;
  return { x, y: withRoom(settings.bands ? y : robustAxis(y, values)) };
}

/** The values in the range that is shown. */
function valuesIn({ x, y, band }: Line, { range }: Settings): number[] {
  const found: number[] = [];
  for (let at = 0; at < x.length; at += 1) {
    const place = x[at] as number;
    if (range && (place < range.from || place > range.to)) continue;
    if (band) found.push(band.low[at] as number, band.high[at] as number);
    else found.push(y[at] as number);
  }
  return found;
}

function extentOf(values: readonly number[], log: boolean): number[] {
  let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const value of values) {
    if (log && value <= 0) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return low <= high ? [low, high] : [];
}

function notesOf(
  lines: readonly Line[],
  marks: readonly Mark[],
  panel: PanelData,
  settings: Settings,
  y: Axis,
): string[] {
  const notes: string[] = [];
  const signs = { nan: "NaN (×)", inf: "∞ (▲)", "-inf": "−∞ (▼)" };
  const counts = Object.entries(signs).flatMap(([value, sign]) => {
    const count = marks.filter(mark => mark.value === value).length;
    return count === 0 ? [] : [`${formatCount(count)} × ${sign}`];
  });
  if (counts.length > 0) notes.push(`Reported and not drawn: ${counts.join(", ")}.`);
  const what = settings.bands ? "group" : "trial";
  if (settings.logY) {
    const below = lines.filter(({ y, band }) => (band?.low ?? y).some(value => value <= 0)).length;
    if (below > 0) notes.push(`Values of 0 or less of ${plural(below, what)} are not on the logarithmic axis.`);
  }
  if (settings.logX) notes.push(`Points at ${nameOfX(settings.x)} 0 or less are not on the logarithmic axis.`);
  const beyond = lines.filter(line =>
    valuesIn(line, settings).some(value => value > y.high || (value < y.low && !y.log)),
  );
  if (beyond.length > 0) notes.push(`Outliers of ${plural(beyond.length, what)} are beyond the axis.`);
  if (panel.without_x > 0)
    notes.push(`${plural(panel.without_x, "point")} omitted: no ${nameOfX(settings.x)} at the same step.`);
  return notes;
}

function plural(count: number, what: string): string {
  return `${formatCount(count)} ${what}${count === 1 ? "" : "s"}`;
}

/** A sentence on the chart for those who do not see it. */
export function describeLayer(name: string, { lines, x }: Layer): string {
  const values = lines.flatMap(line => line.y);
  if (values.length === 0) return `${name}: no points.`;
  let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const value of values) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  const what = lines.some(line => line.band) ? "groups" : "trials";
  return `${name} by ${x.name}, ${formatCount(lines.length)} ${lines.length === 1 ? what.slice(0, -1) : what}: from ${Number(low.toPrecision(4))} to ${Number(high.toPrecision(4))}.`;
}
