// What users write about a sweep: its name, description, project, tags, star and archive.
import { type QueryClient, useQuery } from "@tanstack/react-query";
import { api, done, type Schemas } from "../api";
import { keys } from "../query-keys";
import { ENDED_STATES, type Sweep } from "../sweep/sweep";

export type DetailChanges = Partial<Schemas["Details"]>;
export type Project = Schemas["ProjectView"];

/** Changes a sweep and shows it everywhere. Throws `ApiError`. */
export async function changeDetails(queries: QueryClient, sweepId: number, changes: DetailChanges): Promise<Sweep> {
  const changed = await done(
    api.PATCH("/api/v1/sweeps/{sweep_id}/details", {
      params: { path: { sweep_id: sweepId } },
      body: { add_tags: [], remove_tags: [], ...changes },
    }),
  );
  queries.setQueryData(keys.sweep(sweepId), (before: Sweep | undefined) => before && { ...before, ...changed });
  void queries.invalidateQueries({ queryKey: keys.sweeps() });
  return changed;
}

/** The projects, for choices. */
export function useProjects(enabled = true) {
  return useQuery({
    queryKey: keys.sweeps("projects"),
    queryFn: ({ signal }) => done(api.GET("/api/v1/projects", { signal })),
    staleTime: 30_000,
    enabled,
  });
}

/** Whether a sweep can be archived: what runs stays in the list. */
export function canArchive(sweep: Sweep): boolean {
  return ENDED_STATES.includes(sweep.state);
}

/** The words of a text field as tags. */
export function tagsOf(text: string): string[] {
  return [...new Set(text.split(/[\s,]+/).filter(tag => tag !== ""))].sort();
}
