// How the members of the active version were selected, and their weights.
import { useMemo } from "react";
import { Panel } from "../widgets/panel";
import { type Ensemble, SELECTIONS } from "./ensemble";
import { Chart, type Series } from "./line-chart";
import { formatScore } from "./score-metrics";
import { Weights } from "./weights";
import "./selection-summary.css";

const WITHOUT_WEIGHTS = new Set(["median", "trimmed_mean", "stacking"]);
const SCORES: Record<string, string> = {
  greedy: "Validation loss",
  diverse: "Negative mix of score and disagreement",
};

export function MemberSelection({ ensemble }: { ensemble: Ensemble }) {
  const { selection } = ensemble;
  const members = ensemble.members.map(one => ({ name: `Trial ${one.trial_number}`, href: `/trials/${one.trial_id}` }));
  const path = selection.path;
  return (
    <Panel title="Member selection" hint={summaryOf(ensemble)}>
      <div className={path.length > 1 ? "origin-grid" : undefined}>
        {path.length > 1 && <SelectionHistory ensemble={ensemble} />}
        <div>
          <h3 className="origin-head">Weights</h3>
          <Weights
            members={members}
            weights={ensemble.members.map(one => one.weight)}
            counted={!WITHOUT_WEIGHTS.has(ensemble.combine)}
          />
          {WITHOUT_WEIGHTS.has(ensemble.combine) && (
            <p className="origin-note">This combination rule does not use weights.</p>
          )}
        </div>
      </div>
    </Panel>
  );
}

function SelectionHistory({ ensemble }: { ensemble: Ensemble }) {
  const { path, method } = ensemble.selection;
  const numbers = new Map(ensemble.members.map(member => [member.trial_id, member.trial_number]));
  const series = useMemo<Series[]>(
    () => [{ name: "Ensemble", tone: 1, dots: true, points: path.map((step, index) => [index + 1, step.score]) }],
    [path],
  );
  const trial = (x: number) => {
    const id = path[x - 1]?.trial_id;
    if (id === undefined) return "";
    return numbers.has(id) ? `trial ${numbers.get(id)}` : `trial id ${id}`;
  };
  const first = formatScore(path[0]?.score);
  const last = formatScore(path.at(-1)?.score);
  return (
    <Chart
      label={`Score after each of ${path.length} selection steps, from ${first} to ${last}; lower is better.`}
      series={series}
      xName="Selection steps"
      yName={SCORES[method] ?? "Score"}
      integer
      say={trial}
      height={210}
    />
  );
}

function summaryOf(ensemble: Ensemble): string {
  const { method, candidates, fitted_on, forced, note } = ensemble.selection;
  const among = method === "explicit" || candidates === null ? "" : ` of ${candidates} finished trials with a model`;
  const fitted = fitted_on === null ? "" : ` The combination was fitted on ${fitted_on}${forced ? " (forced)" : ""}.`;
  const noteText = note ? ` Note: ${note}.` : "";
  return `${SELECTIONS[method] ?? method}${among}.${fitted}${noteText}`;
}
