// The trials of a chart: columns of equal length, and the axes derived from them. Pure.
import type { Schemas } from "../api";
import { figureOf } from "../trials/metric-summary-columns";
import { type Axis, type Goal, MEASURED, numberAxis, type Scalar } from "./axis";
import { sharesByRank } from "./ranks";

export type Points = Schemas["PointsView"] & { source?: PointsSource };
/** What the points were requested with. */
export type PointsSource = { sweepId: number; filter: string; figures: readonly string[] };
export type Columns = Readonly<Record<string, readonly Scalar[]>>;
type AxisView = Points["axes"][number];

const MOST_CHOICES = 24; // more distinct strings than this do not make a readable axis

export function columnOf(points: Points, key: string): readonly Scalar[] {
  return (points.columns as Columns)[key] ?? [];
}

/** The numbers of a column, optionally only of the rows in `inside`. */
export function numbersOf(points: Points, key: string, inside?: Uint8Array): number[] {
  return columnOf(points, key).filter((value, row) => typeof value === "number" && inside?.[row] !== 0) as number[];
}

export function idsOf(points: Points): readonly number[] {
  return columnOf(points, "id") as readonly number[];
}

/** The parameters that vary, in the order of the sweep file. */
export function parameterAxes(points: Points): Axis[] {
  return points.axes.flatMap(view => {
    const axis = parameterAxis(points, view);
    return axis && !view.constant ? [axis] : [];
  });
}

function parameterAxis(points: Points, view: AxisView): Axis | null {
  const key = `params.${view.name}`;
  const column = columnOf(points, key);
  if (column.length === 0) return null;
  const others = column.filter(value => value !== null && typeof value !== "number");
  if (view.kind === "choice" || others.length > 0) return choiceAxis(key, view, column);
  const ends = [view.low, view.high].filter(end => end !== null && end !== undefined) as number[];
  const numbers = [...numbersOf(points, key), ...ends];
  return numberAxis(key, view.name, numbers, { log: view.log, integer: view.kind === "integer" });
}

function choiceAxis(key: string, view: AxisView, column: readonly Scalar[]): Axis | null {
  const known = (view.choices ?? []) as Scalar[];
  const choices = [...new Set([...known, ...column])];
  const shown = known.includes(null) || column.includes(null) ? choices : choices.filter(choice => choice !== null);
  if (shown.length > MOST_CHOICES || shown.length < 2) return null;
  return { key, name: view.name, kind: "choice", log: false, integer: false, low: 0, high: 1, choices: shown };
}

/** The objectives, what was measured of trials, and the requested figures of metrics. */
export function outcomeAxes(points: Points): Axis[] {
  const several = points.objectives.length > 1;
  const axes = points.objectives.map(({ name, goal }, index) => {
    const key = several ? `values.${name}` : "value";
    return { ...numberAxis(key, name, numbersOf(points, several || index > 0 ? key : "value")), goal: goal as Goal };
  });
  const figures = Object.keys(points.columns).filter(key => figureOf(key));
  const measured = Object.keys(MEASURED).filter(key => key === "running_s" || key in points.columns);
  const others = [...measured, ...figures].map(key => ({
    ...numberAxis(key, key, numbersOf(points, key), { unit: MEASURED[key]?.unit }),
    goal: goalOf(points, key),
  }));
  return [...axes, ...others];
}

/** Which values of an outcome are better; unknown for the last value of a metric that is not an objective. */
function goalOf(points: Points, key: string): Goal | undefined {
  const { figure, metric } = figureOf(key) ?? {};
  const objective = points.objectives.find(({ name }) => name === metric);
  if (objective) return objective.goal as Goal;
  return figure === "max" ? "maximize" : figure === "min" || key in MEASURED ? "minimize" : undefined;
}

/**
 * The rank of each row, 1 for the best and 0 for the worst; ranks are robust to outliers. Equal values have equal ranks, the
 * mean of their places; if all are equal, each is 1. NaN without a value.
 */
export function goodness(values: readonly Scalar[], goal: Goal | undefined): Float64Array {
  const rows = values.flatMap((value, row) => (typeof value === "number" ? [row] : []));
  const ranks = sharesByRank(
    Float64Array.from(rows, row => values[row] as number),
    goal,
  );
  const shares = new Float64Array(values.length).fill(Number.NaN);
  rows.forEach((row, place) => {
    shares[row] = ranks[place] as number;
  });
  return shares;
}

/** The row of the best eligible trial: finished and feasible; -1 if there is none. */
export function bestRow(points: Points, axis: Axis, inside?: Uint8Array): number {
  if (axis.goal === undefined) return -1;
  const values = columnOf(points, axis.key);
  const [states, feasible] = [columnOf(points, "state"), columnOf(points, "feasible")];
  let best = -1;
  for (let row = 0; row < values.length; row += 1) {
    if (states[row] !== "finished" || feasible[row] !== true || inside?.[row] === 0) continue;
    const [value, held] = [values[row], values[best]];
    if (typeof value !== "number") continue;
    if (best < 0 || (axis.goal === "maximize" ? value > (held as number) : value < (held as number))) best = row;
  }
  return best;
}
