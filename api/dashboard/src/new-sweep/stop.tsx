// What ends a trial early, as finished: one condition as two fields; several are left to the text.
import type { Draft } from "./draft";
import { KeyField } from "./key-field";
import { keysAt, valueAt } from "./values";

export function StopFields({ draft }: { draft: Draft }) {
  const written = valueAt(draft.document, ["stop"]);
  const own = keysAt(draft.document, ["stop"]).every(key => key === "metric" || key === "at");
  if (Array.isArray(written) || !own) {
    return <p className="field-hint">The conditions of stop are written in the text.</p>;
  }
  return (
    <>
      <KeyField
        draft={draft}
        path={["stop", "metric"]}
        label="Stop a trial at"
        placeholder="never"
        suggestions={["step", "training_iteration"]}
        hint="step, or a metric that it reports; the trial finishes"
      />
      <KeyField draft={draft} path={["stop", "at"]} kind="number" label="When it is at least" />
    </>
  );
}
