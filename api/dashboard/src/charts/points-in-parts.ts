// The trials of the charts, requested in parts at the same time: each response stays small with 10,000 trials.
import { api, done, type Schemas } from "../api";
import type { Points } from "./trial-columns";

type Part = Schemas["Part"];

const DIGITS = 5; // of parameters and figures of metrics: finer than a pixel of any chart

export async function fetchPoints(
  sweepId: number,
  filter: string,
  figures: readonly string[],
  signal: AbortSignal,
): Promise<Points> {
  const ask = (part: Part[]) => {
    const query = { filter, part, digits: DIGITS, metrics: part.includes("metrics") ? [...figures] : [] };
    return done(
      api.GET("/api/v1/sweeps/{sweep_id}/points", { params: { path: { sweep_id: sweepId }, query }, signal }),
    );
  };
  const parts: Part[] = figures.length > 0 ? ["trials", "parameters", "metrics"] : ["trials", "parameters"];
  return merged(await Promise.all(parts.map(part => ask([part])))) ?? (await ask(parts));
}

/** The parts as one; null if trials changed between the responses, so that the rows differ. */
export function merged(parts: readonly Points[]): Points | null {
  const [first] = parts;
  if (!first || parts.some(part => part.digest !== first.digest)) return null;
  const columns = Object.assign({}, ...parts.map(part => part.columns));
  return { ...first, axes: parts.find(part => part.axes.length > 0)?.axes ?? [], columns };
}
