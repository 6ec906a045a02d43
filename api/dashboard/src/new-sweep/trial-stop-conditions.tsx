// Stop conditions, which end a trial as finished: one condition as two fields; several are edited as text.
import type { Draft } from "./sweep-file-draft";
import { KeyField } from "./sweep-file-key-fields";
import { keysAt, valueAt } from "./yaml-values";

export function TrialStopConditions({ draft }: { draft: Draft }) {
  const written = valueAt(draft.document, ["stop"]);
  const isSimple = keysAt(draft.document, ["stop"]).every(key => key === "metric" || key === "at");
  if (Array.isArray(written) || !isSimple) {
    return <p className="field-hint">Edit the stop conditions in the sweep file.</p>;
  }
  return (
    <>
      <KeyField
        draft={draft}
        path={["stop", "metric"]}
        label="Stop metric"
        placeholder="never"
        suggestions={["step", "training_iteration"]}
        hint="step, or a reported metric; the trial ends as finished"
      />
      <KeyField draft={draft} path={["stop", "at"]} kind="number" label="Stop threshold" />
    </>
  );
}
