// The timeline of a time span, refetched as it changes.
import { useQuery } from "@tanstack/react-query";
import { api, done } from "../api";
import { useFreshness } from "../charts/queries";
import { keys } from "../query-keys";
import type { TrialTimeline } from "./attempts";
import type { Timeline } from "./device-bars-and-gaps";
import type { Span } from "./visible-span";

export type TimelineRequest = {
  sweepId?: number;
  span: Span | null; // null: the last `rangeS`, or the whole span of the sweep
  rangeS?: number;
};

const REFRESH_MS = 15_000; // figures of the last hour also change without events

/** The timeline, and the time of the response. */
export function useTimeline({ sweepId, span, rangeS }: TimelineRequest) {
  const what = span ? [span.from, span.to] : [rangeS ?? null];
  const queryKey = sweepId === undefined ? keys.devices("timeline", ...what) : keys.sweep(sweepId, "timeline", ...what);
  return useQuery<Fetched>({
    queryKey,
    placeholderData: (before, last) => (last?.queryKey[1] === queryKey[1] ? before : undefined), // never another sweep's
    refetchInterval: span ? false : REFRESH_MS,
    queryFn: ({ signal }) =>
      read(sweepId, span ?? (rangeS ? { from: Date.now() / 1000 - rangeS, to: 0 } : null), signal),
  });
}

async function read(sweepId: number | undefined, span: Span | null, signal: AbortSignal): Promise<Fetched> {
  const query: Record<string, string | number> = {};
  if (sweepId !== undefined) query.sweep = sweepId;
  if (span) query.from = span.from.toFixed(3);
  if (span?.to) query.to = span.to.toFixed(3);
  const view = await done(api.GET("/api/v1/timeline", { params: { query }, signal }));
  return { view, aheadS: view.now_s - Date.now() / 1000 };
}

/** The attempts of the trials that match a filter, and the offset of the service's clock. */
export function useTrialTimeline(sweepId: number, filter: string) {
  useFreshness(sweepId, "trial-timeline");
  return useQuery<{ view: TrialTimeline; aheadS: number }>({
    queryKey: keys.charts(sweepId, "trial-timeline", filter),
    placeholderData: (before, last) => (last?.queryKey[1] === sweepId ? before : undefined), // never another sweep's
    queryFn: async ({ signal }) => {
      const params = { path: { sweep_id: sweepId }, query: { filter } };
      const view = await done(api.GET("/api/v1/sweeps/{sweep_id}/trial-timeline", { params, signal }));
      return { view, aheadS: view.now_s - Date.now() / 1000 };
    },
  });
}

/** `aheadS`: the offset of the service's clock from the browser's. */
export type Fetched = { view: Timeline; aheadS: number };
