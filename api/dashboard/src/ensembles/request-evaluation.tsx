// Requests an evaluation: which version, on which rows. Splits that were already used, and custom rows, ask first.
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { keys } from "../query-keys";
import { useCanEdit } from "../use-session";
import { Button } from "../widgets/button";
import { Confirm } from "../widgets/dialog";
import { Field } from "../widgets/field";
import { toast } from "../widgets/toast";
import type { Ensemble } from "./ensemble-types-and-labels";
import { parseEvaluationCsv } from "./parse-evaluation-csv";
import { type EvaluationRequest, evaluate } from "./queries";

const ROWS = { test: "test", calibration: "calibration", validation: "validation", posted: "custom rows" };
type Rows = keyof typeof ROWS;

type Props = { ensemble: Ensemble; primary: boolean; isRunning: boolean; onAsked: () => void };

export function EvaluateForm({ ensemble, primary, isRunning, onAsked }: Props) {
  const queries = useQueryClient();
  const [rows, setRows] = useState<Rows>("test");
  const [version, setVersion] = useState("");
  const [confirming, setConfirming] = useState(false);
  const [busy, setBusy] = useState(false);
  const [text, setText] = useState("");
  const canEdit = useCanEdit();
  const can = canEdit && ensemble.state === "ready";
  const used = version === "" ? splitWarning(ensemble, rows) : rows === "test" || rows === "posted" ? "" : MAYBE;
  const measure = async () => {
    const what: EvaluationRequest =
      rows === "posted" ? parseEvaluationCsv(text, ensemble) : { split: rows, force: used !== "" };
    await evaluate(ensemble.id, version === "" ? what : { ...what, version: Number(version) });
    toast("Evaluation started");
    onAsked();
    await queries.invalidateQueries({ queryKey: keys.ensemble(ensemble.id, "evaluations") });
  };
  const now = async () => {
    setBusy(true);
    await measure().catch(error => toast(error instanceof Error ? error.message : String(error), "failed"));
    setBusy(false);
  };
  return (
    <>
      {ensemble.canary !== null && (
        <select aria-label="Version to evaluate" value={version} onChange={event => setVersion(event.target.value)}>
          <option value="">version {ensemble.version}</option>
          <option value={ensemble.canary}>version {ensemble.canary}, the canary</option>
        </select>
      )}
      <select aria-label="Evaluation rows" value={rows} onChange={event => setRows(event.target.value as Rows)}>
        {Object.entries(ROWS).map(([key, name]) => (
          <option key={key} value={key}>
            {name}
          </option>
        ))}
      </select>
      <Button
        command
        primary={primary}
        busy={busy || isRunning}
        disabled={!can}
        title={can ? undefined : canEdit ? "Requires all members to be ready" : "Requires the submitter role"}
        onClick={() => (used || rows === "posted" ? setConfirming(true) : void now())}
      >
        {isRunning ? "Evaluating…" : rows === "posted" ? "Evaluate…" : `Evaluate on ${rows}`}
      </Button>
      {confirming && (
        <Confirm
          title={rows === "posted" ? "Evaluate on custom rows" : `Evaluate on ${rows} anyway?`}
          action="Evaluate"
          run={measure}
          onClose={() => setConfirming(false)}
        >
          {rows === "posted" ? (
            <CustomRows ensemble={ensemble} text={text} onText={setText} />
          ) : (
            <p>{used}, so scores on it are optimistic. The report lists this as a caveat. The test split is unused.</p>
          )}
        </Confirm>
      )}
    </>
  );
}

const MAYBE = "This split may have been used to select the members or to fit their combination";

/** How the split was used already. */
function splitWarning({ selection }: Ensemble, rows: Rows): string {
  if (rows === "validation") return "The members and their best epochs were selected on this split";
  return rows === selection.fitted_on ? "The combination of the members was fitted on this split" : "";
}

type CustomRowsProps = { ensemble: Ensemble; text: string; onText: (text: string) => void };

function CustomRows({ ensemble, text, onText }: CustomRowsProps) {
  const { classes, features, task } = ensemble;
  const last =
    task === "classification" ? "its class" : classes.length === 1 ? "its value" : `${classes.length} values`;
  return (
    <>
      <Field
        label="Rows, as CSV"
        hint={`One row per line: ${features} numbers, then ${last}. Use rows that no member was trained on.`}
      >
        <textarea className="builder-own" rows={8} value={text} onChange={event => onText(event.target.value)} />
      </Field>
      <input
        type="file"
        aria-label="A CSV file with the rows"
        accept=".csv,.txt,text/csv,text/plain"
        onChange={event => void event.target.files?.[0]?.text().then(onText)}
      />
    </>
  );
}
