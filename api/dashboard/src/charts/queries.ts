// The data of a sweep's charts: fetched, kept while newer data loads, and fetched again when trials change.
import { type UseQueryResult, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useMemo, useRef, useState } from "react";
import { api, done } from "../api";
import { type Changes, useLive } from "../live";
import { keys } from "../query-keys";
import { totalOf } from "../sweep/sweep";
import { useSweep } from "../sweep/use-sweep";
import type { Axis } from "./axis";
import { type Brushes, readBrushes, withoutRanges } from "./brush-filter-terms";
import type { ImportanceView } from "./importance";
import type { Interval } from "./lineage";
import { fetchPoints } from "./points-in-parts";
import { outcomeAxes, type Points, parameterAxes } from "./trial-columns";

const OFTEN_MS = 1_500; // at most, while trials change
const PATIENCE = 8; // and not before this many times the response time of the last request
const COMPUTING_MS = 2_000;
const NO_AXES: readonly Axis[] = [];

export type ChartPoints = {
  query: UseQueryResult<Points>; // trials that match the filter without its brushes
  parameters: readonly Axis[];
  outcomes: readonly Axis[];
  base: string; // the filter without its brushes
  brushes: Brushes;
};

/** The trials of the filter, brushed or not. Brushes are local to the page and move without a request. */
export function useChartPoints(sweepId: number, filter: string, figures: readonly string[] = []): ChartPoints {
  const [axes, setAxes] = useState<readonly Axis[]>(NO_AXES);
  const { base, brushes } = useMemo(() => {
    if (axes.length === 0) return { base: withoutRanges(filter), brushes: {} };
    return readBrushes(filter, axes);
  }, [filter, axes]);
  const query = usePoints(sweepId, base, figures);
  const found = useMemo(() => {
    const parameters = query.data ? parameterAxes(query.data) : NO_AXES;
    const outcomes = query.data ? outcomeAxes(query.data) : NO_AXES;
    return { parameters, outcomes };
  }, [query.data]);
  useEffect(() => {
    if (query.data) setAxes([...found.parameters, ...found.outcomes]);
  }, [query.data, found]);
  return { query, base, brushes, ...found };
}

/** The trials of a filter, with columns for these figures of metrics. */
export function usePoints(
  sweepId: number,
  filter: string,
  figures: readonly string[] = [],
  enabled = true,
): UseQueryResult<Points> {
  const total = totalOf(useSweep(sweepId).data);
  const query = useQuery({
    queryKey: keys.charts(sweepId, "points", filter, ...figures),
    queryFn: ({ signal }) => fetchPoints({ sweepId, filter, figures }, total, signal),
    enabled,
    placeholderData: (before, last) => (last?.queryKey[1] === sweepId ? before : undefined), // never another sweep's
  });
  useFreshness(sweepId, "points");
  return query;
}

export function useImportance(sweepId: number, metric: string): UseQueryResult<ImportanceView> {
  const path = { sweep_id: sweepId };
  useFreshness(sweepId, "importance");
  return useQuery({
    queryKey: keys.charts(sweepId, "importance", metric),
    queryFn: () => done(api.GET("/api/v1/sweeps/{sweep_id}/importance", { params: { path, query: { metric } } })),
    enabled: metric !== "",
    placeholderData: (before, last) => (last?.queryKey[1] === sweepId ? before : undefined),
    refetchInterval: query => (query.state.data?.state === "computing" ? COMPUTING_MS : false),
    staleTime: 10_000,
  });
}

const MOST_INTERVALS = 5_000; // in one response

export function useIntervals(sweepId: number, enabled: boolean): UseQueryResult<readonly Interval[]> {
  const path = { sweep_id: sweepId };
  useFreshness(sweepId, "intervals");
  return useQuery({
    queryKey: keys.charts(sweepId, "intervals"),
    queryFn: async () => {
      const query = { limit: MOST_INTERVALS };
      return (await done(api.GET("/api/v1/sweeps/{sweep_id}/intervals", { params: { path, query } }))).items;
    },
    enabled,
  });
}

/** Fetches one kind of chart data again when trials of the sweep change; the slower the response, the less often. */
export function useFreshness(sweepId: number, kind: string): void {
  const queries = useQueryClient();
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const responseMs = useRef(0);
  useEffect(() => () => clearTimeout(timer.current), []);
  useLive<Changes>("changes", changes => {
    if (!(sweepId in changes.trials) && !changes.sweeps.includes(sweepId)) return;
    if (timer.current !== undefined) return;
    const fetchAgain = async () => {
      const start = performance.now();
      await queries.invalidateQueries({ queryKey: keys.charts(sweepId, kind) });
      responseMs.current = performance.now() - start;
      timer.current = undefined;
    };
    timer.current = setTimeout(() => void fetchAgain(), Math.max(OFTEN_MS, PATIENCE * responseMs.current));
  });
}
