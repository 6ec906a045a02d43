// The last, lowest and highest value of each metric of one or several trials.
import { useQueries } from "@tanstack/react-query";
import { useMemo } from "react";
import { api, done, type Schemas } from "../api";
import { keys } from "../query-keys";

export type MetricsView = Schemas["MetricsView"];
export type MetricSummary = Schemas["MetricSummaryView"];

const RUNNING_MS = 5_000; // metrics of running trials change without events

/** By trial; without those that are still loading. */
export function useMetricSummaries(trials: readonly { id: number; ended_at: string | null }[]) {
  const found = useQueries({
    queries: trials.map(trial => ({
      queryKey: keys.trial(trial.id, "metric-summaries"),
      queryFn: () =>
        done(api.GET("/api/v1/trials/{trial_id}/metric-summaries", { params: { path: { trial_id: trial.id } } })),
      refetchInterval: trial.ended_at === null ? RUNNING_MS : (false as const),
    })),
    combine: dataOf,
  });
  const ids = trials.map(trial => trial.id).join();
  // biome-ignore lint/correctness/useExhaustiveDependencies: the ids matter, not the array
  return useMemo(
    () => new Map(trials.flatMap(({ id }, at) => (found[at] ? [[id, found[at]] as const] : []))),
    [ids, found],
  );
}

function dataOf<Data>(answers: readonly { data: Data }[]): Data[] {
  return answers.map(answer => answer.data);
}
