// The metrics of a trial as a grid of curves, loaded apart; and the last value of its objective while it runs.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { api, done } from "../../api";
import { useFreshness } from "../../charts/queries";
import { type LivePoints, useLive } from "../../live";
import { keys } from "../../query-keys";
import { CHART_PARTS } from "../../start/lazy-shared-charts";
import { METRIC_NAMES, useMetricNames } from "../../trials/use-metric-names";
import { part } from "../../widgets/lazy-part";
import { Panel } from "../../widgets/panel";
import { QueryResult } from "../../widgets/query-states";
import { isOver, type Trial } from "./queries";

type Point = [number, number]; // step, value

const CurveGrid = part("the charts", () => CHART_PARTS.curveGrid().then(module => module.CurveGrid), 6);

export function TrialCurves({ trial }: { trial: Trial }) {
  const filter = `id:${trial.id}`;
  useFreshness(trial.sweep_id, METRIC_NAMES);
  const { query } = useMetricNames(trial.sweep_id, filter);
  return (
    <Panel title="Curves">
      <QueryResult query={query} rows={6}>
        {metrics =>
          metrics.length === 0 ? (
            <p className="trial-none">{isOver(trial) ? "No metrics reported" : "No metrics reported yet"}</p>
          ) : (
            <CurveGrid sweepId={trial.sweep_id} filter={filter} metrics={metrics} trialId={trial.id} />
          )
        }
      </QueryResult>
    </Panel>
  );
}

/** The last point of a metric of a trial that has not ended. */
export function useLatest(trial: Trial, metric: string | undefined): Point | undefined {
  const queries = useQueryClient();
  const key = keys.trial(trial.id, "latest", metric);
  useLive<LivePoints>("metrics", ({ points }) => {
    const point = metric === undefined ? undefined : points[String(trial.id)]?.[metric];
    if (point) queries.setQueryData<Point | null>(key, before => (before && before[0] > point[0] ? before : point));
  });
  const query = useQuery({
    queryKey: key,
    queryFn: async (): Promise<Point | null> => {
      const params = { path: { trial_id: trial.id }, query: { name: metric, max_points: 4 } };
      const curves = await done(api.GET("/api/v1/trials/{trial_id}/metrics", { params }));
      return (curves[metric as string]?.at(-1) as Point | undefined) ?? null;
    },
    enabled: metric !== undefined && !isOver(trial),
  });
  return query.data ?? undefined;
}
