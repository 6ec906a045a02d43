// Extends a sweep: more trials, more time, another target or priority; states the effect first.
import { useState } from "react";
import { api, done, type Schemas } from "../api";
import { formatCount, formatDuration } from "../format";
import { Button } from "../widgets/button";
import { Dialog } from "../widgets/dialog";
import { Field } from "../widgets/field";
import { countedOf, ENDED_STATES, objectivesOf, type Sweep } from "./sweep";
import "./extend.css";

type Body = Schemas["Extension"];
type Form = { cap: string; priority: string; wall: string; device: string; target: string };
type Problems = Partial<Record<keyof Form, string>>;

function formOf(sweep: Sweep): Form {
  const text = (value: number | null | undefined) => (value === null || value === undefined ? "" : String(value));
  return {
    cap: String(sweep.run_cap),
    priority: String(sweep.priority),
    wall: text(sweep.budget?.wall_s.allowed),
    device: text(sweep.budget?.device_s.allowed),
    target: text(sweep.budget?.target?.value),
  };
}

/** The request for the changed fields, or their problems. */
export function extensionOf(sweep: Sweep, form: Form): { body: Body; problems: Problems } {
  const before = formOf(sweep);
  const problems: Problems = {};
  const body: Body = {};
  const number = (key: keyof Form, check: (value: number) => string): number | undefined => {
    if (form[key].trim() === before[key]) return undefined;
    const value = Number(form[key]);
    const problem = Number.isFinite(value) ? check(value) : "Must be a number";
    if (problem) problems[key] = problem;
    return problem ? undefined : value;
  };
  if (form.cap.trim() === "") problems.cap = "Enter a number of trials";
  else {
    const cap = number("cap", value =>
      Number.isInteger(value) && value >= sweep.run_cap ? "" : atLeast(sweep.run_cap),
    );
    if (cap !== undefined) body.run_cap = cap;
  }
  const priority = number("priority", value => (value >= 0.01 && value <= 100 ? "" : "Must be between 0.01 and 100"));
  if (priority !== undefined) body.priority = priority;
  const budget: Record<string, number | null> = {};
  for (const [key, name] of [
    ["wall", "wall_s"],
    ["device", "device_s"],
  ] as const) {
    if (form[key].trim() === "" && before[key] !== "") budget[name] = null;
    const value = form[key].trim() === "" ? undefined : number(key, s => (s > 0 ? "" : "Must be greater than 0"));
    if (value !== undefined) budget[name] = value;
  }
  if (Object.keys(budget).length > 0) body.budget = budget as Body["budget"];
  if (form.target.trim() === "" && before.target !== "") body.target = null;
  const target = form.target.trim() === "" ? undefined : number("target", () => "");
  if (target !== undefined) body.target = target;
  return { body, problems };
}

function atLeast(cap: number): string {
  return `Must be an integer of at least ${formatCount(cap)}: the limit can only increase`;
}

type Props = { sweep: Sweep; onDone: () => void; onClose: () => void };

export function ExtendDialog({ sweep, onDone, onClose }: Props) {
  const [form, setForm] = useState(() => formOf(sweep));
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState("");
  const { body, problems } = extensionOf(sweep, form);
  const isUnchanged = sweep.state === "finished" && body.run_cap === undefined && Object.keys(body).length === 0;
  const request: Body = isUnchanged && countedOf(sweep) < sweep.run_cap ? { run_cap: sweep.run_cap } : body;
  const ready = Object.keys(problems).length === 0 && Object.keys(request).length > 0;
  const set = (key: keyof Form) => (event: { target: { value: string } }) =>
    setForm({ ...form, [key]: event.target.value });
  const send = async () => {
    if (busy || !ready) return;
    setBusy(true);
    try {
      const where = { params: { path: { sweep_id: sweep.id } }, body: request };
      await done(api.PATCH("/api/v1/sweeps/{sweep_id}", where));
      onDone();
      onClose();
    } catch (error) {
      setError(error instanceof Error ? error.message : String(error));
      setBusy(false);
    }
  };
  const actions = (
    <>
      <Button onClick={onClose}>Cancel</Button>
      <Button command primary busy={busy} disabled={!ready} type="submit">
        Extend the sweep
      </Button>
    </>
  );
  return (
    <Dialog title={`Extend ${sweep.name}`} onClose={onClose} onSubmit={() => void send()} actions={actions}>
      <div className="extend-form">
        <Field label="Total trials" problem={problems.cap} hint={`${formatCount(countedOf(sweep))} completed so far`}>
          <input inputMode="numeric" value={form.cap} onChange={set("cap")} />
        </Field>
        <Field
          label="Priority"
          problem={problems.priority}
          hint="A sweep with priority 2 gets twice the device time of a sweep with 1"
        >
          <input inputMode="decimal" value={form.priority} onChange={set("priority")} />
        </Field>
        <Field label="Time, in seconds" problem={problems.wall} hint={secondsHint(form.wall)}>
          <input inputMode="decimal" value={form.wall} onChange={set("wall")} placeholder="unlimited" />
        </Field>
        <Field label="Device time, in seconds" problem={problems.device} hint={secondsHint(form.device)}>
          <input inputMode="decimal" value={form.device} onChange={set("device")} placeholder="unlimited" />
        </Field>
        <Field
          label={`Target of ${objectivesOf(sweep)[0]?.name ?? "the metric"}`}
          problem={problems.target}
          hint="The sweep ends when a trial reaches it"
        >
          <input inputMode="decimal" value={form.target} onChange={set("target")} placeholder="none" />
        </Field>
      </div>
      <p className="extend-means">{effectText(sweep, request, problems)}</p>
      {error && (
        <p role="alert" className="dialog-refused">
          {error}
        </p>
      )}
    </Dialog>
  );
}

function secondsHint(text: string): string {
  const value = Number(text);
  return text.trim() !== "" && value > 0 ? formatDuration(value) : "Empty means unlimited";
}

function effectText(sweep: Sweep, body: Body, problems: Problems): string {
  if (Object.keys(problems).length > 0) return "Fix the highlighted fields";
  if (Object.keys(body).length === 0) return "No changes";
  const more = (body.run_cap ?? sweep.run_cap) - countedOf(sweep);
  const trials = `Up to ${formatCount(more)} more ${more === 1 ? "trial" : "trials"}.`;
  return ENDED_STATES.includes(sweep.state) ? `${trials} The search continues with all previous trials.` : trials;
}
