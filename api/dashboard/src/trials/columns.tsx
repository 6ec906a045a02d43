// The columns of the trial table: names, widths, cell contents, and default visibility.
import type { ReactNode } from "react";
import { Link } from "wouter";
import { formatDuration, formatNumber, formatTime, formatValue } from "../format";
import { type Objective, objectivesOf, type Sweep } from "../sweep/sweep";
import { formatMegabytes } from "../usage/measures";
import { CutName } from "../widgets/cut-name";
import { StateBadge } from "../widgets/state-badge";
import { MetricCell } from "./metric-cell";
import { FIGURE_NAMES, figureOf, type MetricFigure } from "./metric-summary-columns";
import { constantsOf, isNumeric } from "./objectives-and-parameters";
import { type Choice, samplerText } from "./parameter-origin-text";
import { trialHref } from "./trial-references";
import type { Row } from "./use-table-windows";

export type Column = {
  key: string;
  name: string;
  title: string; // the full name and its meaning
  group: string;
  width: number;
  number: boolean; // right-aligned
  show: (row: Row) => ReactNode;
};

const PLAIN: Record<string, Pick<Column, "name" | "title" | "width"> & { number?: boolean }> = {
  number: { name: "Trial", title: "Number in the sweep", width: 76, number: true },
  state: { name: "State", title: "State", width: 118 },
  value: { name: "Value", title: "Value of the first metric", width: 112, number: true },
  running_s: {
    name: "Running",
    title: "Time on a device, without the queue between attempts",
    width: 104,
    number: true,
  },
  queued_s: {
    name: "Queued",
    title: "Time waiting for a device, before and between attempts",
    width: 104,
    number: true,
  },
  duration_s: { name: "Duration", title: "From the first start to the end, or until now", width: 104, number: true },
  device: { name: "Device", title: "Device of the last attempt", width: 100 },
  cause: { name: "Cause", title: "Failure cause of the last attempt", width: 128 },
  error: { name: "Error", title: "First line of the failure of the last attempt", width: 320 },
  peak_memory_mb: {
    name: "Peak memory",
    title: "Highest memory of the last attempt, over all its processes",
    width: 124,
    number: true,
  },
  peak_gpu_memory_mb: {
    name: "Peak GPU memory",
    title: "Highest GPU memory of the last attempt",
    width: 148,
    number: true,
  },
  tags: { name: "Tags", title: "Tags", width: 140 },
  attempt: { name: "Attempts", title: "Attempts so far", width: 90, number: true },
  sampler: { name: "Sampler", title: "Sampler that proposed the parameters", width: 110 },
  started_at: { name: "Started", title: "Time of the first start", width: 166 },
  ended_at: { name: "Ended", title: "End time", width: 166 },
  id: { name: "Id", title: "Trial id, for the command line and the REST API", width: 84, number: true },
};
/** On a phone, state and result fit on one screen. */
const NARROW: Record<string, number> = { number: 56, state: 106 };
const HIDDEN = ["duration_s", "queued_s", "attempt", "peak_gpu_memory_mb", "sampler", "started_at", "ended_at", "id"];
const INTERNAL_COLUMNS = [
  ...["requested", "violated", "reported", "reported_step"],
  ...["fallback_reason", "fallback_error", "proposed_for"],
]; // shown in other columns
const SPARSE_COLUMNS = ["cause", "error", "peak_memory_mb", "peak_gpu_memory_mb"]; // missing in windows without values
const GROUPS: Record<string, string> = {
  params: "Parameters",
  values: "Values",
  constraints: "Constraints",
  attrs: "Attributes",
};
const MAX_PARAMS = 14; // by default
const NOT_SORTABLE = ["tags", "error"];

export function isSortable(key: string): boolean {
  return !NOT_SORTABLE.includes(key);
}

/** All columns, in display order. */
export function columnsOf(sweep: Sweep, found: readonly string[], isPhone = false): Column[] {
  const objectives = objectivesOf(sweep);
  const keys = [...new Set([...found, ...SPARSE_COLUMNS, ...parametersOf(sweep)])].filter(
    key => !INTERNAL_COLUMNS.includes(key),
  );
  const several = objectives.length > 1;
  return keys
    .filter(key => !(several && key === "value"))
    .map(key => columnOf(key, sweep, objectives, isPhone))
    .sort((one, other) => placeOf(one.key) - placeOf(other.key));
}

function parametersOf(sweep: Sweep): string[] {
  const parameters = (sweep.spec as { parameters?: Record<string, unknown> }).parameters ?? {};
  return Object.keys(parameters).map(name => `params.${name}`);
}

function placeOf(key: string): number {
  const order = [
    "number",
    "state",
    "value",
    "values.",
    "params.",
    "metrics",
    "running_s",
    "queued_s",
    "duration_s",
    "peak_memory_mb",
    "peak_gpu_memory_mb",
    "device",
    "cause",
    "error",
    "tags",
  ];
  if (figureOf(key)) return order.indexOf("metrics");
  const place = order.findIndex(each => key.startsWith(each) && (each.endsWith(".") || key.length === each.length));
  return place < 0 ? order.length : place;
}

/** The columns that are visible by default. */
export function defaultColumns(columns: readonly Column[], sweep: Sweep): string[] {
  const constant = new Set(constantsOf(sweep).map(name => `params.${name}`));
  const params = columns.filter(({ key }) => key.startsWith("params.") && !constant.has(key)).slice(0, MAX_PARAMS);
  const shownParams = new Set(params.map(({ key }) => key));
  const failed = (sweep.counts.failed ?? 0) > 0;
  return columns.flatMap(({ key }) => {
    if (key.startsWith("params.")) return shownParams.has(key) ? [key] : [];
    if (key.startsWith("attrs.") || key.startsWith("constraints.") || HIDDEN.includes(key)) return [];
    return ["cause", "error"].includes(key) && !failed ? [] : [key];
  });
}

function columnOf(key: string, sweep: Sweep, objectives: readonly Objective[], isPhone: boolean): Column {
  const figure = figureOf(key);
  if (figure) return metricColumn(key, figure);
  const dot = key.indexOf(".");
  const [kind, name] = dot < 0 ? ["", key] : [key.slice(0, dot), key.slice(dot + 1)];
  const objective =
    key === "value" ? objectives[0] : kind === "values" ? objectives.find(each => each.name === name) : undefined;
  if (objective) return valueColumn(key, objective, sweep);
  if (kind) {
    const group = GROUPS[kind] ?? "Others";
    const number = kind === "params" ? isNumeric(sweep, name) : kind === "constraints";
    return {
      key,
      name,
      title: `${name} (${group.toLowerCase().slice(0, -1)})`,
      group,
      width: widthOf(name, number ? 88 : 104),
      number,
      show: row => text(row.cell(key)),
    };
  }
  const plain = PLAIN[key] ?? { name: key, title: key, width: 110 };
  const width = (isPhone && NARROW[key]) || plain.width;
  return {
    key,
    ...plain,
    width,
    number: plain.number ?? false,
    group: "Trial",
    show: row => showPlain(key, row, sweep.id),
  };
}

function metricColumn(key: string, figure: MetricFigure): Column {
  const name = figure.figure === "last" ? figure.metric : key;
  return {
    key,
    name,
    title: `${figure.metric}: ${FIGURE_NAMES[figure.figure]}`,
    group: "Metrics",
    width: widthOf(name, 96),
    number: true,
    show: row => <MetricCell row={row} columnKey={key} metric={figure.metric} />,
  };
}

function widthOf(name: string, least = 104): number {
  return Math.min(190, Math.max(least, 44 + name.length * 7.6));
}

function valueColumn(key: string, objective: Objective, sweep: Sweep): Column {
  const up = objective.goal === "maximize";
  return {
    key,
    name: `${objective.name} ${up ? "↑" : "↓"}`,
    title: `${objective.name}: ${up ? "higher" : "lower"} is better`,
    group: "Values",
    width: Math.max(132, widthOf(`${objective.name}  `)),
    number: true,
    show: row =>
      key === "value" && typeof row.cell(key) !== "number" && typeof row.cell("reported") === "number" ? (
        <Reported value={row.cell("reported") as number} step={Number(row.cell("reported_step"))} />
      ) : (
        <Value value={row.cell(key)} best={sweep.best?.trial_id === row.id} violated={row.cell("violated") === true} />
      ),
  };
}

function Value({ value, best, violated }: { value: unknown; best: boolean; violated: boolean }) {
  const shown = formatNumber(value as number | null, 5);
  return (
    <span className={best ? "trials-best" : undefined} title={typeof value === "number" ? String(value) : undefined}>
      {best && (
        <span role="img" aria-label="best" title="The best trial">
          ★{" "}
        </span>
      )}
      {violated && (
        <span role="img" aria-label="violates a constraint" title="Violates a constraint: not eligible as best">
          ▲{" "}
        </span>
      )}
      {shown}
    </span>
  );
}

/** The last report of a trial without a value. */
function Reported({ value, step }: { value: number; step: number }) {
  return (
    <span className="trials-reported" title={`${value}, reported at step ${step}; the trial has no result`}>
      <span className="trials-step">step {step}</span> <span>{formatNumber(value, 5)}</span>
    </span>
  );
}

function showPlain(key: string, row: Row, sweepId: number): ReactNode {
  const value = row.cell(key);
  if (key === "number") return <Link href={trialHref(sweepId, row.number)}>{row.number}</Link>;
  if (key === "state") return <State state={row.state} requested={row.cell("requested")} />;
  if (["running_s", "queued_s", "duration_s"].includes(key)) return formatDuration(value as number | null);
  if (key === "peak_memory_mb" || key === "peak_gpu_memory_mb") return formatMegabytes(value as number | null);
  if (key === "started_at" || key === "ended_at") return formatTime(value as number | null);
  if (key === "tags") return <Tags tags={value as readonly string[] | undefined} />;
  if (key === "sampler") return text(samplerText(choiceOf(row)));
  if (key === "error") return value === null ? "" : text(value);
  if (key === "cause") return value === null ? "" : text(String(value).replaceAll("_", " "));
  return typeof value === "number" ? String(value) : text(value);
}

function choiceOf(row: Row): Choice {
  return {
    sampler: String(row.cell("sampler")),
    fallback_reason: (row.cell("fallback_reason") ?? null) as Choice["fallback_reason"],
    fallback_error: (row.cell("fallback_error") ?? null) as string | null,
    proposed_for: (row.cell("proposed_for") ?? null) as number | null,
  };
}

function State({ state, requested }: { state: string; requested: unknown }) {
  const pendingState = requested === "stop" ? "stopping" : requested === "retry" ? "waiting" : null;
  return (
    <StateBadge
      state={pendingState ?? state}
      title={pendingState ? `${state}; ${String(requested)} requested` : undefined}
    />
  );
}

function Tags({ tags = [] }: { tags?: readonly string[] }) {
  return (
    <span className="trials-tags" title={tags.join(", ")}>
      {tags.map(tag => (
        <span key={tag} className="trials-tag">
          <CutName name={tag} />
        </span>
      ))}
    </span>
  );
}

function text(value: unknown): ReactNode {
  const shown = formatValue(value);
  if (typeof value === "number") return <span title={String(value)}>{shown}</span>;
  return <CutName name={shown} />;
}
