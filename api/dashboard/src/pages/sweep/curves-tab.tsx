// The learning curves of a sweep's trials, updated while they run.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useMemo, useState } from "react";
import { useLocation } from "wouter";
import { api, done, type Schemas } from "../../api";
import type { Curve } from "../../charts/curve-values";
import { Curves } from "../../charts/curves";
import { useFreshness } from "../../charts/queries";
import { formatCount } from "../../format";
import { type LivePoints, useLive } from "../../live";
import { keys } from "../../query-keys";
import { hover, useSelection } from "../../selection";
import { ENDED_STATES } from "../../sweep/sweep";
import { useSweep } from "../../sweep/use-sweep";
import { setQuery, useQueryState } from "../../url";
import { Button } from "../../widgets/button";
import { Checkbox } from "../../widgets/checkbox";
import { Panel } from "../../widgets/panel";
import { Empty, QueryResult } from "../../widgets/query-states";
import { Select } from "../../widgets/select";
import "../../widgets/labelled-control.css";

type CurvesView = Schemas["CurvesView"];
type Tail = Record<number, [number, number][]>; // by trial, the points received since the curves were fetched

const COUNTS = ["20", "50", "100", "300"];
const SMOOTHEST = 0.95;
const MOST_LIVE = 240; // live points per curve; above it all curves are fetched again and downsampled
const POINTS = 1_000; // per curve; more than twice the pixels of a wide panel is not visible

export function CurvesTab({ sweepId }: { sweepId: number }) {
  const [filter] = useQueryState("filter");
  const [metric] = useQueryState("curve");
  const [limit] = useQueryState("curves", "50");
  const count = COUNTS.includes(limit) ? Number(limit) : 50;
  const query = useQuery({
    queryKey: keys.charts(sweepId, "curves", filter, metric, count),
    queryFn: ({ signal }) =>
      done(
        api.GET("/api/v1/sweeps/{sweep_id}/curves", {
          params: {
            path: { sweep_id: sweepId },
            query: { filter, metric: metric || undefined, limit: count, max_points: Math.min(POINTS, 40_000 / count) },
          },
          signal,
        }),
      ),
    placeholderData: (before, last) => (last?.queryKey[1] === sweepId ? before : undefined),
  });
  useFreshness(sweepId, "curves");
  return (
    <QueryResult query={query} rows={8}>
      {view => <CurvesPanel sweepId={sweepId} view={view} filter={filter} limit={String(count)} />}
    </QueryResult>
  );
}

type PanelProps = { sweepId: number; view: CurvesView; filter: string; limit: string };

function CurvesPanel({ sweepId, view, filter, limit }: PanelProps) {
  const [, go] = useLocation();
  const [log, setLog] = useQueryState("log");
  const [smooth, setSmooth] = useQueryState("smooth", "0");
  const { hovered, selected } = useSelection(sweepId);
  const curves = useLiveCurves(sweepId, view);
  const onHover = useCallback((id: number | null) => hover(sweepId, id), [sweepId]);
  const weight = Math.min(SMOOTHEST, Math.max(0, Number(smooth) || 0));
  if (view.metric === null) return <Nothing sweepId={sweepId} filter={filter} />;
  const actions = (
    <>
      <Select
        label="Metric"
        value={view.metric}
        options={[...new Set([view.metric, ...view.metrics])].map(name => ({ value: name, name }))}
        onChange={value => setQuery({ curve: value === view.metrics[0] ? "" : value })}
      />
      <Select
        label="Show"
        value={limit}
        options={COUNTS.map(value => ({ value, name: `${value} trials` }))}
        onChange={value => setQuery({ curves: value === "50" ? "" : value })}
      />
      <label className="labelled-control">
        Smoothing
        <input
          type="range"
          min={0}
          max={SMOOTHEST}
          step={0.05}
          value={weight}
          aria-valuetext={weight === 0 ? "none" : weight.toFixed(2)}
          onChange={event => setSmooth(event.target.value)}
        />
      </label>
      <Checkbox label="Log scale" on={log === "1"} onChange={on => setLog(on ? "1" : "")} />
    </>
  );
  return (
    <Panel title={view.metric} hint={hintOf(view)} actions={actions}>
      {curves.length === 0 ? (
        <Empty title="No curve to show" hint={`No matching trial has reported ${view.metric}.`} />
      ) : (
        <Curves
          curves={curves}
          metric={view.metric}
          goal={view.goal ?? undefined}
          log={log === "1"}
          smooth={weight}
          highlighted={hovered}
          selected={selected}
          height={460}
          onHover={onHover}
          onOpen={id => go(`/trials/${id}`)}
        />
      )}
    </Panel>
  );
}

function hintOf(view: CurvesView): string {
  const all = `${formatCount(view.matching)} ${view.matching === 1 ? "trial has" : "trials have"} reported it`;
  if (view.curves.length > 0 && view.curves.every(curve => curve.points === 1))
    return `${all}, once each, so there are points instead of lines`;
  if (view.curves.length >= view.matching) return all;
  return `${all}; showing ${formatCount(view.curves.length)}: running trials first, then the best, then the newest`;
}

/** The curves with the values that running trials have reported since they were fetched. */
function useLiveCurves(sweepId: number, view: CurvesView): readonly Curve[] {
  const queries = useQueryClient();
  const [extended, setExtended] = useState<{ of: CurvesView; tail: Tail }>({ of: view, tail: {} });
  useLive<LivePoints>("metrics", ({ points }) => {
    setExtended(before => {
      const tail: Tail = before.of === view ? { ...before.tail } : {};
      for (const [id, metrics] of Object.entries(points)) {
        const point = view.metric === null ? undefined : metrics[view.metric];
        if (point) tail[Number(id)] = [...(tail[Number(id)] ?? []), point];
      }
      return { of: view, tail };
    });
  });
  useEffect(() => {
    if (Object.values(extended.tail).some(points => points.length % MOST_LIVE === 0))
      void queries.invalidateQueries({ queryKey: keys.charts(sweepId, "curves") }, { cancelRefetch: false });
  }, [queries, sweepId, extended]);
  return useMemo(
    () => (extended.of === view ? view.curves.map(curve => longer(curve, extended.tail)) : view.curves),
    [view, extended],
  );
}

function longer(curve: Curve, tail: Tail): Curve {
  let last = curve.steps.at(-1) ?? -1;
  const more = (tail[curve.trial_id] ?? []).filter(([step]) => {
    const isNew = step > last;
    last = Math.max(last, step);
    return isNew;
  });
  if (more.length === 0) return curve;
  const [steps, values] = [more.map(([step]) => step), more.map(([, value]) => value)];
  return { ...curve, steps: [...curve.steps, ...steps], values: [...curve.values, ...values] };
}

function Nothing({ sweepId, filter }: { sweepId: number; filter: string }) {
  const sweep = useSweep(sweepId).data;
  if (filter !== "") {
    return (
      <Empty title="No curves" hint={`No trial that matches ${filter} has reported a metric by step.`}>
        <Button onClick={() => setQuery({ filter: "" })}>Clear filter</Button>
      </Empty>
    );
  }
  if (sweep && ENDED_STATES.includes(sweep.state)) {
    return (
      <Empty
        title="No curves"
        hint="The sweep has ended, and no trial reported a metric by step. See Table and Analysis for final values."
      />
    );
  }
  return <Empty title="No curves yet" hint="Curves appear when a trial reports a metric by step." />;
}
