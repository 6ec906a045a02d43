// The evaluations of an ensemble: request one, see its results, and compare earlier ones.
import { formatAgo } from "../format";
import { useQueryState } from "../url-query-state";
import { Panel } from "../widgets/panel";
import { Empty, Failure, Loading, QueryResult } from "../widgets/query-states";
import { type Ensemble, type Evaluation, type Figures, memberName } from "./ensemble-types-and-labels";
import type { NamedMember } from "./member-score-comparison";
import { evaluatedPrecisions, PrecisionTable } from "./precision-comparison";
import { isPending, useEvaluations } from "./queries";
import { EvaluateForm } from "./request-evaluation";
import { ReportGrid, ReportSummary, rowsText } from "./score-report";

export function EvaluationPanel({ ensemble }: { ensemble: Ensemble }) {
  const query = useEvaluations(ensemble.id);
  const [selectedId, setSelectedId] = useQueryState("evaluation");
  const found = query.data ?? [];
  const shown = found.find(one => String(one.id) === selectedId) ?? found.find(one => one.result) ?? found[0];
  const isRunning = found.some(isPending);
  const actions = (
    <>
      {found.length > 1 && (
        <select
          aria-label="Select an evaluation"
          value={shown ? String(shown.id) : ""}
          onChange={event => setSelectedId(event.target.value)}
        >
          {found.map(one => (
            <option key={one.id} value={one.id}>
              {titleOf(one)}
            </option>
          ))}
        </select>
      )}
      <EvaluateForm
        ensemble={ensemble}
        primary={found.length === 0}
        isRunning={isRunning}
        onAsked={() => setSelectedId("")}
      />
    </>
  );
  const figures = shown?.result;
  const members = shown ? memberNames(ensemble, shown) : [];
  const precisions = figures ? evaluatedPrecisions(figures, members) : [];
  return (
    <section aria-label="Evaluation">
      <Panel title="Evaluation" hint={figures ? hintOf(figures) : undefined} actions={actions}>
        <QueryResult query={query}>
          {() =>
            figures ? <ReportSummary figures={figures} members={members} /> : <NoEvaluation evaluation={shown} />
          }
        </QueryResult>
      </Panel>
      {precisions.length > 0 && (
        <Panel
          title="Precisions"
          hint="Each member in float32 and in the precision that was requested, on the same rows."
        >
          <PrecisionTable
            members={precisions}
            loss={figures?.task === "classification" ? "Log loss" : "Squared error"}
          />
        </Panel>
      )}
      {figures && <ReportGrid figures={figures} members={members} />}
    </section>
  );
}

function hintOf(figures: Figures): string {
  const on = `On ${rowsText(figures.rows, figures.split)}`;
  return figures.split === "test" ? `${on}, which was not used for selection or fitting.` : `${on}.`;
}

function NoEvaluation({ evaluation }: { evaluation: Evaluation | undefined }) {
  if (evaluation?.state === "failed") return <Failure error={new Error(evaluation.reason)} />;
  if (evaluation) return <Loading rows={4} what="Evaluation in progress" />;
  return (
    <Empty
      title="No evaluation yet"
      hint="An evaluation runs all members on the test split or on other rows, and compares the ensemble with the best single network: accuracy or error, calibration, disagreement, and degradation when members are missing."
    />
  );
}

/** The members of the evaluated version by trial. */
function memberNames(ensemble: Ensemble, evaluation: Evaluation): NamedMember[] {
  const members = ensemble.versions.find(version => version.number === evaluation.version)?.members ?? [];
  return members.map(memberName);
}

function titleOf(one: Evaluation): string {
  const state = one.result ? "" : `, ${one.state}`;
  return `#${one.id}: ${one.split}, version ${one.version}, ${formatAgo(one.created_at)}${state}`;
}
