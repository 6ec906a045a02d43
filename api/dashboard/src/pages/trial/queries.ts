// Queries and commands of the trial page.
import { type QueryClient, useQuery, useQueryClient } from "@tanstack/react-query";
import { api, done, type Schemas } from "../../api";
import { keys } from "../../query-keys";
import { objectivesOf, type Sweep } from "../../sweep/sweep";

export type Trial = Schemas["TrialDetail"];
export type Attempt = Schemas["AttemptView"];
export type { Sweep };

const OVER = ["finished", "pruned", "failed", "cancelled"];

export function isOver(trial: Trial): boolean {
  return OVER.includes(trial.state);
}

/** The names of a sweep's objectives, the first one being the primary. */
export function objectiveNames(sweep: Sweep | undefined): string[] {
  return sweep ? objectivesOf(sweep).map(({ name }) => name) : [];
}

export function useTrial(trialId: number, enabled = true) {
  return useQuery({
    queryKey: keys.trial(trialId),
    queryFn: () => done(api.GET("/api/v1/trials/{trial_id}", { params: { path: { trial_id: trialId } } })),
    placeholderData: undefined,
    enabled,
  });
}

/** The id of a trial by its number; what is fetched for it is the trial. */
export function useTrialId(sweepId: number, number: number) {
  const queries = useQueryClient();
  return useQuery({
    queryKey: keys.numbered(sweepId, number),
    queryFn: async () => {
      const path = { sweep_id: sweepId, number };
      const trial = await done(api.GET("/api/v1/sweeps/{sweep_id}/trials/{number}", { params: { path } }));
      queries.setQueryData(keys.trial(trial.id), trial);
      return trial.id;
    },
    staleTime: 60_000,
    placeholderData: undefined,
  });
}

export type Neighbours = { before: number | null; after: number | null };

/** The numbers of the previous and next trials. */
export function useNeighbours(trial: Trial) {
  const { sweep_id, number } = trial;
  return useQuery({
    queryKey: keys.sweep(sweep_id, "around", number),
    queryFn: async (): Promise<Neighbours> => {
      const query = number < 2 ? { limit: number + 2 } : { after: `${number - 2}`, limit: 3 };
      const page = await done(api.GET("/api/v1/sweeps/{sweep_id}/trials", { params: { path: { sweep_id }, query } }));
      const existing = (target: number) => (page.items.some(item => item.number === target) ? target : null);
      return { before: existing(number - 1), after: existing(number + 1) };
    },
    staleTime: 30_000,
  });
}

export type Change = { note?: string; add_tags?: string[]; remove_tags?: string[] };

export async function annotate(queries: QueryClient, trialId: number, body: Change): Promise<void> {
  const path = { trial_id: trialId };
  const changed = await done(api.PATCH("/api/v1/trials/{trial_id}", { params: { path }, body }));
  queries.setQueryData(keys.trial(trialId), changed);
}

export async function sendCommand(queries: QueryClient, trialId: number, command: "stop" | "retry"): Promise<void> {
  const params = { path: { trial_id: trialId } };
  const answer =
    command === "stop"
      ? await done(api.POST("/api/v1/trials/{trial_id}/stop", { params }))
      : await done(api.POST("/api/v1/trials/{trial_id}/retry", { params }));
  queries.setQueryData(keys.trial(trialId), answer);
}
