// The evaluations of an ensemble: ask for one, see what it found, look at earlier ones.
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { formatAgo } from "../format";
import { keys } from "../keys";
import { useMayChange } from "../session";
import { useQueryState } from "../url";
import { Button } from "../widgets/button";
import { Panel } from "../widgets/panel";
import { Answer, Empty, Failure, Loading } from "../widgets/states";
import { attempt } from "../widgets/toast";
import { evaluate, isUnderWay, useEvaluations } from "./queries";
import { ReportGrid, ReportLead, rowsSaid } from "./report";
import type { Named } from "./scores";
import type { Ensemble, Evaluation, Figures } from "./types";

const SERVING = new Set(["ready"]);

export function Evaluations({ ensemble }: { ensemble: Ensemble }) {
  const query = useEvaluations(ensemble.id);
  const queries = useQueryClient();
  const [wanted, setWanted] = useQueryState("evaluation");
  const [busy, setBusy] = useState(false);
  const may = useMayChange();
  const can = may && SERVING.has(ensemble.state);
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
        title={can ? undefined : may ? "All members must be ready" : "Your token only allows looking"}
        onClick={() => void measure()}
      >
        {underWay ? "Measuring…" : "Evaluate on test"}
      </Button>
    </>
  );
  const figures = shown?.result;
  const members = shown ? namesOf(ensemble, shown) : [];
  return (
    <section aria-label="Evaluation">
      <Panel title="Evaluation" hint={figures ? hintOf(figures) : undefined} actions={actions}>
        <Answer query={query}>
          {() => (figures ? <ReportLead figures={figures} members={members} /> : <Missing evaluation={shown} />)}
        </Answer>
      </Panel>
      {figures && <ReportGrid figures={figures} members={members} />}
    </section>
  );
}

function hintOf(figures: Figures): string {
  const on = `On ${rowsSaid(figures.rows, figures.split)}`;
  return figures.split === "test" ? `${on}, which chose and fitted nothing.` : `${on}.`;
}

function Missing({ evaluation }: { evaluation: Evaluation | undefined }) {
  if (evaluation?.state === "failed") return <Failure error={new Error(evaluation.reason)} />;
  if (evaluation) return <Loading rows={4} what="The evaluation is under way" />;
  return (
    <Empty
      title="Not measured yet"
      hint="An evaluation asks all members for the test rows and compares the ensemble with the best single network: accuracy or error, calibration, disagreement, and what happens when members are missing."
    />
  );
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
