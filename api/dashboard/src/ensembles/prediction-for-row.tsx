// The prediction for a row once it has arrived, or why it failed.
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { ApiError } from "../api";
import { Button } from "../widgets/button";
import { Failure, Loading } from "../widgets/query-states";
import type { Ensemble } from "./ensemble-types-and-labels";
import { PredictionTable } from "./prediction-breakdown";
import { predict } from "./queries";

type PredictionForRowProps = {
  ensemble: Ensemble;
  row: readonly number[] | undefined;
  trueLabel?: string;
  deadlineMs: number | null;
};

/** The prediction for a row, requested as soon as the row is available; "Predict again" measures the latency again. */
export function PredictionForRow({ ensemble, row, trueLabel, deadlineMs }: PredictionForRowProps) {
  const query = useQuery({
    queryKey: ["prediction", ensemble.id, ensemble.version, deadlineMs, row],
    queryFn: ({ signal }) => predict(ensemble.id, row ?? [], deadlineMs, signal),
    enabled: row !== undefined,
    gcTime: 0,
    staleTime: Number.POSITIVE_INFINITY,
    refetchOnWindowFocus: false,
    placeholderData: keepPreviousData,
    retry: false,
  });
  if (query.isError)
    return <Failure error={withMemberStatuses(query.error, ensemble)} onRetry={() => void query.refetch()} />;
  if (!query.data) return <Loading rows={4} what="Waiting for the members" />;
  return (
    <>
      <PredictionTable
        answer={query.data}
        ensemble={ensemble}
        trueLabel={query.isPlaceholderData ? undefined : trueLabel}
      />
      <Button command small className="try-again" busy={query.isFetching} onClick={() => void query.refetch()}>
        Predict again
      </Button>
    </>
  );
}

/** An error with the status of each member, which the response contains too. */
function withMemberStatuses(error: Error, ensemble: Ensemble): Error {
  const parts = error instanceof ApiError && Array.isArray(error.problem.members) ? error.problem.members : [];
  const numbers = new Map(ensemble.members.map(member => [member.trial_id, member.trial_number]));
  const nameOf = (id: unknown) => (numbers.has(Number(id)) ? `trial ${numbers.get(Number(id))}` : `trial id ${id}`);
  const statuses = parts.map(part => `${nameOf(part.trial_id)}: ${part.status}`).join(", ");
  return statuses && error instanceof ApiError
    ? new ApiError(error.status, `${error.message} (${statuses})`, error.problem)
    : error;
}
