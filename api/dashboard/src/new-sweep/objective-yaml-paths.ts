// Where the objectives are in the sweep file: one at `metric`, or several in the list `metrics`.
import { listAt } from "./yaml-values";

/** The path of each objective in the file. */
export function objectivePaths(document: unknown): string[][] {
  const several = listAt(document, ["metrics"]);
  return several.length === 0 ? [["metric"]] : several.map((_, place) => ["metrics", String(place)]);
}
