// The data of the page that compares sweeps.
import { useQueries, useQuery } from "@tanstack/react-query";
import { api, done, type Schemas } from "../../api";
import { keys } from "../../query-keys";

export type History = Schemas["HistoryView"];
export type JoinedTrial = Schemas["JoinedTrialView"];

const OFTEN_MS = 10_000; // while a compared sweep runs

export function useHistories(sweeps: readonly number[], by: "number" | "time") {
  return useQuery({
    queryKey: keys.compared("histories", sweeps, by),
    queryFn: ({ signal }) =>
      done(api.GET("/api/v1/compare/histories", { params: { query: { sweep: [...sweeps], by } }, signal })),
    enabled: sweeps.length > 0,
    placeholderData: undefined,
    refetchInterval: query => (query.state.data?.some(each => isActive(each.state)) ? OFTEN_MS : false),
  });
}

export function useJoinedTrials(sweeps: readonly number[], trials: readonly number[], best: number) {
  return useQuery({
    queryKey: keys.compared("trials", sweeps, trials, best),
    queryFn: ({ signal }) =>
      done(
        api.GET("/api/v1/compare/trials", {
          params: { query: { sweep: [...sweeps], trial: [...trials], best } },
          signal,
        }),
      ),
    enabled: sweeps.length + trials.length > 0,
    refetchInterval: query =>
      query.state.data?.some(each => each.state === "running" || each.state === "waiting") ? OFTEN_MS : false,
  });
}

function isActive(state: string): boolean {
  return !["finished", "failed", "cancelled"].includes(state);
}

/** The sweep file and the packages of sweeps; they never change. */
export function useConfigurations(ids: readonly number[]) {
  const read = async (id: number, signal: AbortSignal) => {
    const params = { path: { sweep_id: id } };
    const [sweep, file] = await Promise.all([
      done(api.GET("/api/v1/sweeps/{sweep_id}", { params, signal })),
      done(api.GET("/api/v1/sweeps/{sweep_id}/file", { params, parseAs: "text", signal })) as Promise<string>,
    ]);
    const packages = sweep.provenance.packages_sha256
      ? ((await done(
          api.GET("/api/v1/sweeps/{sweep_id}/packages", { params, parseAs: "text", signal }),
        )) as unknown as string)
      : "";
    return { sweep, file, packages };
  };
  return useQueries({
    queries: ids.map(id => ({
      queryKey: keys.compared("configuration", id),
      queryFn: ({ signal }: { signal: AbortSignal }) => read(id, signal),
      staleTime: Number.POSITIVE_INFINITY,
      placeholderData: undefined,
    })),
  });
}

export type Configuration = { sweep: Schemas["SweepView"]; file: string; packages: string };
