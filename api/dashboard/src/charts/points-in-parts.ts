// The trials of the charts, requested in parts at the same time: each response stays small with 10,000 trials.
import { api, done, type Schemas } from "../api";
import { columnOf, idsOf, type Points, type PointsSource } from "./trial-columns";

type Part = Schemas["Part"];

const MOST_IN_PARTS = 10_000; // trials in a response
const DIGITS = 5; // of parameters and figures of metrics: finer than a pixel of any chart

/** `total`: trials of the sweep. More than a response has are sampled once, in one request. */
export async function fetchPoints(source: PointsSource, total: number, signal?: AbortSignal): Promise<Points> {
  const ask = (part: Part[]) => fetchParts(source, part, DIGITS, signal);
  const parts = partsOf(source);
  const inParts = total > MOST_IN_PARTS ? null : merged(await Promise.all(parts.map(part => ask([part]))));
  return { ...(inParts ?? (await ask(parts))), source };
}

/** The points with all digits of parameters and figures, for files; trials that match no more keep what they have. */
export async function withAllDigits(points: Points): Promise<Points> {
  if (!points.source) return points;
  const exact = await fetchParts(points.source, partsOf(points.source));
  const rowOf = new Map(idsOf(exact).map((id, row) => [id, row]));
  const rows = idsOf(points).map(id => rowOf.get(id));
  const columns = Object.entries(points.columns).map(([key, column]) => {
    if (!key.startsWith("params.") && !points.source?.figures.includes(key)) return [key, column];
    const found = columnOf(exact, key);
    return [key, column.map((value, row) => (value === null ? null : (found[rows[row] ?? -1] ?? value)))];
  });
  return { ...points, columns: Object.fromEntries(columns) };
}

function fetchParts(source: PointsSource, part: Part[], digits?: number, signal?: AbortSignal): Promise<Points> {
  const { sweepId, filter, figures } = source;
  const query = { filter, part, digits, metrics: part.includes("metrics") ? [...figures] : [] };
  return done(api.GET("/api/v1/sweeps/{sweep_id}/points", { params: { path: { sweep_id: sweepId }, query }, signal }));
}

function partsOf({ figures }: PointsSource): Part[] {
  return figures.length > 0 ? ["trials", "parameters", "metrics"] : ["trials", "parameters"];
}

/** The parts as one; null if trials changed between the responses, so that the rows differ. */
export function merged(parts: readonly Points[]): Points | null {
  const [first] = parts;
  if (!first || parts.some(part => part.digest !== first.digest)) return null;
  const columns = Object.assign({}, ...parts.map(part => part.columns));
  return { ...first, axes: parts.find(part => part.axes.length > 0)?.axes ?? [], columns };
}
