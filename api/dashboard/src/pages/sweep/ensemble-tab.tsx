// The ensemble tab of a sweep: its ensembles, and the builder.
import { Builder } from "../../ensembles/builder";
import { EnsemblesOfSweep } from "../../ensembles/sweep-ensembles";
import { objectivesOf } from "../../sweep/sweep";
import { useSweep } from "../../sweep/use-sweep";
import { QueryResult } from "../../widgets/query-states";

export function EnsembleTab({ sweepId }: { sweepId: number }) {
  const query = useSweep(sweepId);
  return (
    <QueryResult query={query}>
      {sweep => (
        <>
          <EnsemblesOfSweep ids={sweep.ensembles} />
          <Builder sweepId={sweepId} metric={objectivesOf(sweep)[0]?.name ?? "Value"} />
        </>
      )}
    </QueryResult>
  );
}
