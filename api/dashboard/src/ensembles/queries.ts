// Queries and commands for ensembles, and the live messages that update them.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { api, done, type Schemas } from "../api";
import { useLive } from "../live";
import { keys } from "../query-keys";
import type { Ensemble, Member } from "./ensemble-types-and-labels";

const SETTLING = new Set(["building", "warming"]);
const SETTLING_MS = 1_000;
const HEALTH_MS = 5_000;
const MEASURING_MS = 1_000;

function path(ensembleId: number) {
  return { params: { path: { ensemble_id: ensembleId } } };
}

/** One ensemble. The stream updates its members' health every second; until it is connected, the ensemble is polled. */
export function useEnsemble(ensembleId: number) {
  const queries = useQueryClient();
  useLive("health", data => {
    const { ensemble_id, members } = data as { ensemble_id: number; members: Member[] };
    if (ensemble_id !== ensembleId) return;
    queries.setQueryData<Ensemble>(keys.ensemble(ensembleId), before => before && { ...before, members });
  });
  return useQuery({
    queryKey: keys.ensemble(ensembleId),
    queryFn: () => done(api.GET("/api/v1/ensembles/{ensemble_id}", path(ensembleId))),
    placeholderData: undefined,
    refetchInterval: query => (SETTLING.has(query.state.data?.state ?? "") ? SETTLING_MS : HEALTH_MS),
  });
}

export function useEvaluations(ensembleId: number) {
  return useQuery({
    queryKey: keys.ensemble(ensembleId, "evaluations"),
    queryFn: () => done(api.GET("/api/v1/ensembles/{ensemble_id}/evaluations", path(ensembleId))),
    placeholderData: undefined,
    refetchInterval: query => (query.state.data?.some(isPending) ? MEASURING_MS : false),
  });
}

export function isPending(evaluation: { state: string }): boolean {
  return evaluation.state === "queued" || evaluation.state === "running";
}

export type EvaluationRequest = Partial<Schemas["EvaluateBody"]>;

/** Requests an evaluation and returns at once; the list shows when it is done. */
export function evaluate(ensembleId: number, what: EvaluationRequest) {
  const body = { ...what, wait_s: 0 } as Schemas["EvaluateBody"];
  return done(api.POST("/api/v1/ensembles/{ensemble_id}/evaluate", { ...path(ensembleId), body }));
}

export type Action = "start" | "stop" | "rollback" | "promote" | "retire";

export function runAction(ensembleId: number, action: Action): Promise<Ensemble> {
  switch (action) {
    case "start":
      return done(api.POST("/api/v1/ensembles/{ensemble_id}/start", path(ensembleId)));
    case "stop":
      return done(api.POST("/api/v1/ensembles/{ensemble_id}/stop", path(ensembleId)));
    case "rollback":
      return done(api.POST("/api/v1/ensembles/{ensemble_id}/rollback", path(ensembleId)));
    case "promote":
      return done(api.POST("/api/v1/ensembles/{ensemble_id}/promote", path(ensembleId)));
    case "retire":
      return done(api.POST("/api/v1/ensembles/{ensemble_id}/retire", path(ensembleId)));
  }
}

export function samples(ensembleId: number, start: number, n: number) {
  const query = { split: "test" as const, start, n };
  return done(
    api.GET("/api/v1/ensembles/{ensemble_id}/samples", { params: { path: { ensemble_id: ensembleId }, query } }),
  );
}

export function predict(ensembleId: number, row: readonly number[], deadlineMs: number | null, signal: AbortSignal) {
  const body = { inputs: [[...row]], deadline_ms: deadlineMs };
  const params = { path: { ensemble_id: ensembleId }, query: { members: true } };
  const answer = done(api.POST("/api/v1/ensembles/{ensemble_id}/predict", { params, body, signal }));
  return answer as Promise<Schemas["PredictionView"]>; // the service returns a NumPy array only on request
}
