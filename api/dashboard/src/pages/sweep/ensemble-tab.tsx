// The ensemble tab of a sweep: its ensembles, and the builder.
import { Builder } from "../../ensembles/builder";
import { EnsemblesOfSweep } from "../../ensembles/of-sweep";
import { useSweep } from "../../sweep/use-sweep";
import { objectivesOf } from "../../sweep/words";
import { Answer } from "../../widgets/states";

export function EnsembleTab({ sweepId }: { sweepId: number }) {
  const query = useSweep(sweepId);
  return (
    <Answer query={query}>
      {sweep => (
        <>
          <EnsemblesOfSweep ids={sweep.ensembles} />
          <Builder sweepId={sweepId} metric={objectivesOf(sweep)[0]?.name ?? "Value"} />
        </>
      )}
    </Answer>
  );
}
