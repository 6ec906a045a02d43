// Metrics grouped by the part of their name before the first slash: `train/loss` and `train/accuracy` are `train`. Pure.

export type MetricName = { name: string; goal: "maximize" | "minimize" | null };
export type PrefixGroup = { prefix: string; metrics: readonly MetricName[] };

export const OBJECTIVES = "objectives";
export const OTHERS = "other metrics";

/** Objectives first, then metrics without a prefix, then one group per prefix by name. */
export function prefixGroups(metrics: readonly MetricName[], find: string): PrefixGroup[] {
  const groups = new Map<string, MetricName[]>();
  for (const metric of metrics.filter(({ name }) => isFound(name, find))) {
    const prefix = metric.goal ? OBJECTIVES : prefixOf(metric.name);
    groups.set(prefix, [...(groups.get(prefix) ?? []), metric]);
  }
  const rank = (prefix: string) => (prefix === OBJECTIVES ? 0 : prefix === OTHERS ? 1 : 2);
  return [...groups]
    .map(([prefix, found]) => ({ prefix, metrics: found }))
    .sort((one, other) => rank(one.prefix) - rank(other.prefix) || one.prefix.localeCompare(other.prefix));
}

function prefixOf(name: string): string {
  const slash = name.indexOf("/");
  return slash > 0 ? name.slice(0, slash + 1) : OTHERS;
}

/** Whether a name contains every word, in any case. */
export function isFound(name: string, find: string): boolean {
  const low = name.toLowerCase();
  return find
    .toLowerCase()
    .split(/\s+/)
    .every(word => low.includes(word));
}
