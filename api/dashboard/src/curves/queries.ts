// The data of the grid of curves: names of metrics, and the panel of each chart in view; fetched again as trials report.
import { type UseQueryResult, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { useFreshness } from "../charts/queries";
import { type LivePoints, useLive } from "../live";
import { keys } from "../query-keys";
import { type GridParams, type Loaded, loadPanel } from "./batch-panel-requests";

const OFTEN_MS = 1_000; // at most, while trials report
const PATIENCE = 8; // and not before this many times the time of the last responses

/** The panel of one metric; requested only while `enabled`, together with others. */
export function usePanel(
  sweepId: number,
  params: GridParams,
  metric: string | undefined,
  enabled: boolean,
): UseQueryResult<Loaded> {
  return useQuery({
    queryKey: keys.charts(sweepId, "grid", metric, params),
    queryFn: () => loadPanel(sweepId, params, metric as string),
    enabled: enabled && metric !== undefined,
    placeholderData: (before, last) =>
      last?.queryKey[1] === sweepId && last.queryKey[3] === metric ? before : undefined,
  });
}

/** Fetches the charts in view again while trials report, the slower the responses the less often. */
export function useLivePanels(sweepId: number): void {
  const queries = useQueryClient();
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const responseMs = useRef(0);
  useEffect(() => () => clearTimeout(timer.current), []);
  useFreshness(sweepId, "grid");
  useLive<LivePoints>("metrics", ({ points }) => {
    if (timer.current !== undefined || Object.keys(points).length === 0) return;
    const fetchAgain = async () => {
      const start = performance.now();
      await queries.invalidateQueries({ queryKey: keys.charts(sweepId, "grid") }, { cancelRefetch: false });
      responseMs.current = performance.now() - start;
      timer.current = undefined;
    };
    timer.current = setTimeout(() => void fetchAgain(), Math.max(OFTEN_MS, PATIENCE * responseMs.current));
  });
}
