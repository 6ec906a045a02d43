// The trials of a sweep by state: all of them, or those that match the filter apart from its states.
import { useQuery } from "@tanstack/react-query";
import { api, done } from "../api";
import { keys } from "../query-keys";
import { totalOf } from "../sweep/sweep";
import { useSweep } from "../sweep/use-sweep";
import { withTerm } from "./filter-terms";

const MANY = 10_000; // trials: to count those that match delays the rows and points that the page waits for
const LATER_MS = 500;

type Counts = Readonly<Record<string, number | undefined>>;

/** null while the trials that match are counted, and if the filter is invalid. */
export function useTrialCounts(sweepId: number, filter: string): Counts | null {
  const sweep = useSweep(sweepId).data;
  const others = withTerm(filter, "state", "");
  const matching = useQuery({
    queryKey: keys.sweep(sweepId, "trial-counts", others),
    queryFn: async ({ signal }) => {
      if (totalOf(sweep) > MANY) await new Promise(resolve => setTimeout(resolve, LATER_MS));
      signal.throwIfAborted();
      const params = { path: { sweep_id: sweepId }, query: { filter: others } };
      return done(api.GET("/api/v1/sweeps/{sweep_id}/trial-counts", { params, signal }));
    },
    enabled: others !== "",
  });
  if (others !== "") return matching.data?.counts ?? null;
  return sweep?.id === sweepId ? sweep.counts : null;
}
