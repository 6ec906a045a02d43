// One sweep: all parts of a page share this query.
import { useQuery } from "@tanstack/react-query";
import { api, done } from "../api";
import { keys } from "../query-keys";

export function useSweep(sweepId: number | undefined) {
  const id = sweepId ?? 0;
  return useQuery({
    queryKey: keys.sweep(id, "itself"),
    queryFn: ({ signal }) => done(api.GET("/api/v1/sweeps/{sweep_id}", { params: { path: { sweep_id: id } }, signal })),
    enabled: sweepId !== undefined,
  });
}
