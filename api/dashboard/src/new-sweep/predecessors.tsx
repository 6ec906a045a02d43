// Sweeps that must finish before this one, and parameters that get the values of the best trial of one.
import { Collapsible } from "./collapsible";
import type { Draft } from "./sweep-file-draft";
import { KeyField } from "./sweep-file-key-fields";
import { keysAt, listAt } from "./yaml-values";

export function PredecessorsForm({ draft }: { draft: Draft }) {
  const count = listAt(draft.document, ["after"]).length + (keysAt(draft.document, ["fix_from"]).length > 0 ? 1 : 0);
  return (
    <Collapsible
      title="Start after other sweeps"
      state={count === 0 ? "none" : `${count} set`}
      hint="The sweep waits until these sweeps have finished. Fixed parameters are not searched."
      problem={draft.problemAt(["after"]) ?? draft.problemAt(["fix_from"])}
    >
      <div className="new-fields">
        <KeyField
          draft={draft}
          path={["after"]}
          kind="list"
          label="After"
          hint="Ids or names of earlier sweeps, separated by commas"
        />
        <KeyField
          draft={draft}
          path={["fix_from", "sweep"]}
          kind="value"
          label="Fix parameters from sweep"
          hint="Its best trial gives the values"
        />
        <KeyField
          draft={draft}
          path={["fix_from", "parameters"]}
          kind="list"
          label="Fixed parameters"
          hint="Names, separated by commas"
        />
      </div>
    </Collapsible>
  );
}
