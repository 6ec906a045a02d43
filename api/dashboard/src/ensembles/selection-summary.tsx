// A summary of the selection: how the members of the active version were selected, and their weights.
import { Panel } from "../widgets/panel";
import { type Ensemble, memberName, SELECTIONS } from "./ensemble-types-and-labels";
import { Weights } from "./member-weights";
import { SelectionHistory } from "./selection-path";
import "./selection-summary.css";

const WITHOUT_WEIGHTS = new Set(["median", "trimmed_mean", "stacking"]);

export function MemberSelection({ ensemble }: { ensemble: Ensemble }) {
  const { selection } = ensemble;
  const members = ensemble.members.map(memberName);
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

function summaryOf(ensemble: Ensemble): string {
  const { method, candidates, fitted_on, forced, note } = ensemble.selection;
  const among = method === "explicit" || candidates === null ? "" : ` of ${candidates} finished trials with a model`;
  const fitted = fitted_on === null ? "" : ` The combination was fitted on ${fitted_on}${forced ? " (forced)" : ""}.`;
  const noteText = note ? ` Note: ${note}.` : "";
  return `${SELECTIONS[method] ?? method}${among}.${fitted}${noteText}`;
}
