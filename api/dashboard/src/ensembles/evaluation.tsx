// The evaluations of an ensemble: ask for one, see what it found, look at earlier ones.
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { formatAgo } from "../format";
import { keys } from "../keys";
import { useQueryState } from "../url";
import { Button } from "../widgets/button";
import { Panel } from "../widgets/panel";
import { Answer, Empty, Failure, Loading } from "../widgets/states";
import { attempt } from "../widgets/toast";
import { evaluate, isUnderWay, useEvaluations } from "./queries";
import { Report, rowsSaid } from "./report";
import type { Named } from "./scores";
import type { Ensemble, Evaluation } from "./types";

const SERVING = new Set(["ready"]);

export function Evaluations({ ensemble }: { ensemble: Ensemble }) {
  const query = useEvaluations(ensemble.id);
  const queries = useQueryClient();
  const [wanted, setWanted] = useQueryState("evaluation");
  const [busy, setBusy] = useState(false);
  const can = SERVING.has(ensemble.state);
  const measure = async () => {
    setBusy(true);
    const asked = await attempt(() => evaluate(ensemble.id, "test", false), "The evaluation is under way.");
    if (asked) setWanted("");
    await queries.invalidateQueries({ queryKey: keys.ensemble(ensemble.id, "evaluations") });
    setBusy(false);
  };
  const found = query.data ?? [];
  const shown = found.find(one => String(one.id) === wanted) ?? found.find(one => one.result) ?? found[0];
  const underWay = found.some(isUnderWay);
  const actions = (
    <>
      {found.length > 1 && (
        <select
          aria-label="Which evaluation"
          value={shown ? String(shown.id) : ""}
          onChange={event => setWanted(event.target.value)}
        >
          {found.map(one => (
            <option key={one.id} value={one.id}>
              {titleOf(one)}
            </option>
          ))}
        </select>
      )}
      <Button
        primary={found.length === 0}
        busy={busy || underWay}
        disabled={!can}
        title={can ? undefined : "All members must be ready"}
        onClick={() => void measure()}
      >
        {underWay ? "Measuring…" : "Evaluate on test"}
      </Button>
    </>
  );
  return (
    <section aria-label="Evaluation">
      <Panel
        title="Evaluation"
        hint={
          shown?.result
            ? `On ${rowsSaid(shown.result.rows, shown.result.split)}, which nobody has seen before.`
            : undefined
        }
        actions={actions}
      >
        <Answer query={query}>{() => <Shown ensemble={ensemble} evaluation={shown} />}</Answer>
      </Panel>
    </section>
  );
}

function Shown({ ensemble, evaluation }: { ensemble: Ensemble; evaluation: Evaluation | undefined }) {
  if (!evaluation) {
    return (
      <Empty
        title="Not measured yet"
        hint="An evaluation asks all members for the test rows and compares the ensemble with the best single network: accuracy or error, calibration, disagreement, and what happens when members are missing."
      />
    );
  }
  if (evaluation.state === "failed") return <Failure error={new Error(evaluation.reason)} />;
  if (!evaluation.result) return <Loading rows={4} what="The evaluation is under way" />;
  return <Report figures={evaluation.result} members={namesOf(ensemble, evaluation)} />;
}

/** The members by their trials, where the version that was measured is the one that answers. */
function namesOf(ensemble: Ensemble, evaluation: Evaluation): Named[] {
  if (evaluation.version === ensemble.version) {
    return ensemble.members.map(one => ({ name: `Trial ${one.trial_number}`, href: `/trials/${one.trial_id}` }));
  }
  const ids = ensemble.versions.find(version => version.number === evaluation.version)?.trial_ids ?? [];
  return ids.map(id => ({ name: `Trial id ${id}`, href: `/trials/${id}` }));
}

function titleOf(one: Evaluation): string {
  const state = one.result ? "" : `, ${one.state}`;
  return `#${one.id}: ${one.split}, version ${one.version}, ${formatAgo(one.created_at)}${state}`;
}
