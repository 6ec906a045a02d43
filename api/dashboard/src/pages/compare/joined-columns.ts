// The columns of the table of several sweeps: the union over all trials, values first, then parameters, then metrics.
import type { JoinedTrial } from "./queries";

export type Column = { key: string; group: string; name: string; of: (trial: JoinedTrial) => unknown };

const KINDS = [
  { kind: "values", group: "value" },
  { kind: "params", group: "parameter" },
  { kind: "metrics", group: "last" },
] as const;

/** A column for each name that any trial has; `undefined` in a trial is missing, `null` is a value. */
export function columnsOf(trials: readonly JoinedTrial[]): Column[] {
  return KINDS.flatMap(({ kind, group }) => {
    const names = new Set(trials.flatMap(trial => Object.keys(trial[kind])));
    return [...names].map(name => ({
      key: `${kind}.${name}`,
      group,
      name,
      of: (trial: JoinedTrial) => (trial[kind] as Record<string, unknown>)[name],
    }));
  });
}

/** The columns in which two trials differ, also by a missing value. */
export function differing(columns: readonly Column[], trials: readonly JoinedTrial[]): Column[] {
  return columns.filter(column => new Set(trials.map(trial => JSON.stringify(column.of(trial)))).size > 1);
}

/** The trials by a column, descending with a leading "-"; missing values come last. Unsorted for "". */
export function sortedBy(trials: readonly JoinedTrial[], columns: readonly Column[], sort: string): JoinedTrial[] {
  const column = columns.find(each => each.key === sort.replace(/^-/, ""));
  if (!column) return [...trials];
  const sign = sort.startsWith("-") ? -1 : 1;
  return [...trials].sort((one, other) => {
    const [a, b] = [column.of(one), column.of(other)];
    if (a === undefined || b === undefined) return Number(a === undefined) - Number(b === undefined);
    if (typeof a === "number" && typeof b === "number") return sign * (a - b);
    return sign * String(a).localeCompare(String(b));
  });
}
