// The curves of the compared trials in one chart, each in its own colour.
import { useQuery } from "@tanstack/react-query";
import { useCallback } from "react";
import { useLocation } from "wouter";
import { api, done } from "../api";
import { Curves } from "../charts/curves";
import { useFreshness } from "../charts/queries";
import { keys } from "../query-keys";
import { hover, useSelection } from "../selection";
import { useQueryState } from "../url-query-state";
import { Checkbox } from "../widgets/checkbox";
import { MetricPicker } from "../widgets/combobox";
import { Panel } from "../widgets/panel";
import { Failure, Loading } from "../widgets/query-states";
import { trialHref } from "./trial-references";

const POINTS = 800; // of each curve, at most
const HEIGHT = 340;

export function CompareCurves({ sweepId, ids }: { sweepId: number; ids: readonly number[] }) {
  const [metric, setMetric] = useQueryState("curve");
  const [log, setLog] = useQueryState("log");
  const [, go] = useLocation();
  const { hovered } = useSelection(sweepId);
  const onHover = useCallback((id: number | null) => hover(sweepId, id), [sweepId]);
  const filter = `id:${ids.join()}`;
  const query = useQuery({
    queryKey: keys.charts(sweepId, "curves", filter, metric),
    queryFn: ({ signal }) =>
      done(
        api.GET("/api/v1/sweeps/{sweep_id}/curves", {
          params: {
            path: { sweep_id: sweepId },
            query: { filter, metric: metric || undefined, limit: ids.length, max_points: POINTS },
          },
          signal,
        }),
      ),
    placeholderData: (before, last) => (last?.queryKey[1] === sweepId ? before : undefined),
  });
  useFreshness(sweepId, "curves");
  const view = query.data;
  const shown = view?.metric ?? null;
  const curves = ids.flatMap(id => view?.curves.find(curve => curve.trial_id === id) ?? []);
  const actions = view && shown !== null && (
    <>
      <MetricPicker
        label="Metric"
        value={shown}
        options={[...new Set([shown, ...view.metrics])].map(name => ({ value: name, name }))}
        onChange={setMetric}
      />
      <Checkbox label="Log scale" on={log === "1"} onChange={on => setLog(on ? "1" : "")} />
    </>
  );
  return (
    <Panel title="Curves" actions={actions}>
      {view === undefined && query.isError && <Failure error={query.error} onRetry={() => void query.refetch()} />}
      {view === undefined && !query.isError && <Loading rows={4} what="Loading the curves" />}
      {view && (shown === null || curves.length === 0) && <p>None of these trials has reported a metric by step.</p>}
      {view && shown !== null && curves.length > 0 && (
        <Curves
          curves={curves}
          metric={shown}
          goal={view.goal ?? undefined}
          log={log === "1"}
          colours="series"
          highlighted={hovered}
          height={HEIGHT}
          onHover={onHover}
          onOpen={id => {
            const opened = curves.find(curve => curve.trial_id === id);
            if (opened) go(trialHref(sweepId, opened.number));
          }}
        />
      )}
    </Panel>
  );
}
