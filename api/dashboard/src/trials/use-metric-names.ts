// The names of the metrics that trials of a sweep have reported.
import { type UseQueryResult, useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { api, done } from "../api";
import type { MetricName } from "../curves/prefix-groups";
import { keys } from "../query-keys";

export const METRIC_NAMES = "metric-names"; // for `useFreshness`, where new metrics should appear at once

const NONE: readonly string[] = [];

/**
 * The metrics of the trials that match `filter`, the objectives first; `names` is empty until they are known. Menus wait
 * for what the page is about: `enabled`.
 */
export function useMetricNames(
  sweepId: number,
  filter = "",
  enabled = true,
): { query: UseQueryResult<readonly MetricName[]>; names: readonly string[] } {
  const params = { path: { sweep_id: sweepId }, query: { filter: filter || undefined } };
  const query = useQuery({
    queryKey: keys.charts(sweepId, METRIC_NAMES, filter),
    queryFn: ({ signal }) => done(api.GET("/api/v1/sweeps/{sweep_id}/metrics", { params, signal })),
    staleTime: 15_000,
    enabled,
    placeholderData: (before, last) => (last?.queryKey[1] === sweepId ? before : undefined),
  });
  const names = useMemo(() => query.data?.map(({ name }) => name) ?? NONE, [query.data]);
  return { query, names };
}
