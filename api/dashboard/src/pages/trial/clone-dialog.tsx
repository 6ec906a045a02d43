// Clones a trial: adds a trial with the same parameters, optionally with some changes.
import { useState } from "react";
import { ApiError, api, done } from "../../api";
import { formatNumber } from "../../format";
import { restartWarning } from "../../sweep/sweep";
import { Button } from "../../widgets/button";
import { Dialog } from "../../widgets/dialog";
import { Field } from "../../widgets/field";
import { toast } from "../../widgets/toast";
import { isLog, type ParameterSpec, parametersOf, type Scalar } from "./parameter-difference";
import type { Sweep, Trial } from "./queries";

/** The text of a field, converted to the type of the trial's value. */
export function parseValue(text: string, current: Scalar): Scalar {
  const typed = text.trim();
  if (typeof current === "number" && typed !== "" && Number.isFinite(Number(typed))) return Number(typed);
  if (typeof current === "boolean" && (typed === "true" || typed === "false")) return typed === "true";
  if (current === null && typed === "null") return null;
  return typed;
}

export function hintOf(spec: ParameterSpec | undefined): string {
  if (spec?.min === undefined || spec.max === undefined) return "";
  return `${formatNumber(spec.min)} to ${formatNumber(spec.max)}${isLog(spec) ? ", log scale" : ""}`;
}

export function CloneDialog({
  trial,
  sweep,
  onClose,
}: {
  trial: Trial;
  sweep: Sweep | undefined;
  onClose: () => void;
}) {
  const specs = parametersOf(sweep?.spec);
  const [texts, setTexts] = useState<Record<string, string>>({});
  const [problems, setProblems] = useState<Record<string, string>>({});
  const [busy, setBusy] = useState(false);
  const params = Object.fromEntries(
    Object.entries(texts)
      .map(([name, text]): [string, Scalar] => [name, parseValue(text, trial.params[name] ?? null)])
      .filter(([name, value]) => value !== trial.params[name]),
  );
  const count = Object.keys(params).length;
  const clone = async () => {
    if (busy) return;
    setBusy(true);
    setProblems({});
    try {
      const path = { trial_id: trial.id };
      await done(api.POST("/api/v1/trials/{trial_id}/clone", { params: { path }, body: { params } }));
    } catch (error) {
      setProblems(problemsOf(error, Object.keys(trial.params)));
      setBusy(false);
      return;
    }
    toast(`Cloned trial ${trial.number}${count ? "" : " unchanged"}`);
    onClose();
  };
  const change = (name: string, text: string) => setTexts({ ...texts, [name]: text });
  return (
    <Dialog
      title={`Clone trial ${trial.number}`}
      onClose={onClose}
      onSubmit={() => void clone()}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button command primary busy={busy} type="submit">
            {count === 0 ? "Clone unchanged" : `Clone with ${count} ${count === 1 ? "change" : "changes"}`}
          </Button>
        </>
      }
    >
      <p className="trial-dim">
        Adds a trial to the same sweep. It runs before trials proposed by the search.{" "}
        {restartWarning(sweep?.state, "a clone")}
      </p>
      {problems[""] && (
        <p role="alert" className="dialog-refused">
          {problems[""]}
        </p>
      )}
      <div className="trial-clone">
        {Object.entries(trial.params)
          .sort(([one], [other]) => one.localeCompare(other))
          .map(([name, current]) => (
            <Parameter
              key={name}
              name={name}
              spec={specs[name]}
              text={texts[name] ?? String(current)}
              changed={name in params}
              problem={problems[name]}
              onChange={text => change(name, text)}
            />
          ))}
      </div>
    </Dialog>
  );
}

type ParameterProps = {
  name: string;
  spec: ParameterSpec | undefined;
  text: string;
  changed: boolean;
  problem: string | undefined;
  onChange: (text: string) => void;
};

function Parameter({ name, spec, text, changed, problem, onChange }: ParameterProps) {
  const label = (
    <>
      <span className="mono">{name}</span>
      {changed && <span className="trial-changed"> changed</span>}
    </>
  );
  return (
    <Field label={label} hint={hintOf(spec)} problem={problem}>
      {spec?.values?.every(value => typeof value !== "object" || value === null) ? (
        <select value={text} onChange={event => onChange(event.target.value)}>
          {[...new Set([text, ...spec.values.map(String)])].map(value => (
            <option key={value}>{value}</option>
          ))}
        </select>
      ) : (
        <input className="mono" value={text} onChange={event => onChange(event.target.value)} />
      )}
    </Field>
  );
}

/** The service's problem of each parameter; "" collects the others. */
export function problemsOf(error: unknown, names: string[]): Record<string, string> {
  const message = error instanceof Error ? error.message : String(error);
  const errors = error instanceof ApiError && Array.isArray(error.problem.errors) ? error.problem.errors : [];
  const found: Record<string, string> = {};
  for (const { location, message } of errors as { location: string[]; message: string }[]) {
    const name = names.find(each => location.includes(each));
    if (name) found[name] = message;
  }
  return Object.keys(found).length > 0 ? found : { "": message };
}
