// The search space as rows: each parameter with its type and bounds, with buttons to add and remove.
import { Fragment } from "react";
import { asBlock } from "../sweep/sweep";
import { Button } from "../widgets/button";
import { CommitInput } from "../widgets/commit-input";
import { Icon } from "../widgets/icon";
import { AddName } from "./add-name";
import { addCondition, Conditions, canDepend } from "./conditional-parameters";
import { kindOf } from "./program";
import type { Draft } from "./sweep-file-draft";
import { flow, type Kind, keysAt, shownAt, typedYaml, valueAt } from "./yaml-values";

type Shape =
  | "range"
  | "log"
  | "choice"
  | "ordered"
  | "constant"
  | "weighted"
  | "normal"
  | "log_normal"
  | "beta"
  | "other";

const SHAPES: [Shape, string][] = [
  ["range", "range"],
  ["log", "log range"],
  ["choice", "choice"],
  ["ordered", "ordered choice"],
  ["constant", "constant"],
];
const DRAWN: [Shape, string][] = [
  ["weighted", "weighted"],
  ["normal", "normal"],
  ["log_normal", "log normal"],
  ["beta", "beta"],
];
const TEMPLATES: Record<Exclude<Shape, "other">, string> = {
  range: "{min: 0.0, max: 1.0}",
  log: "{min: 1e-4, max: 1e-1, log: true}",
  choice: "{values: [16, 32, 64]}",
  ordered: "{values: [16, 32, 64], ordered: true}",
  constant: "{value: 1}",
  weighted: "{values: [16, 32, 64], probabilities: [0.5, 0.3, 0.2]}",
  normal: "{distribution: normal, mu: 0.0, sigma: 1.0}",
  log_normal: "{distribution: log_normal, mu: 0.0, sigma: 1.0}",
  beta: "{distribution: beta, a: 2.0, b: 5.0}",
};
const FIELDS: Partial<Record<Shape, string[]>> = {
  choice: ["values"],
  ordered: ["values"],
  weighted: ["values", "probabilities"],
  constant: ["value"],
  normal: ["mu", "sigma", "q"],
  log_normal: ["mu", "sigma", "q"],
  beta: ["a", "b", "q"],
};
const FIELD_LABELS: Record<string, [label: string, kind: Kind, prefix?: string]> = {
  min: ["Lower bound", "number"],
  max: ["Upper bound", "number"],
  step: ["Step", "number"],
  values: ["Values", "list"],
  probabilities: ["Probabilities", "list", "weights"],
  value: ["Value", "yaml"],
  mu: ["Mean", "number", "mean"],
  sigma: ["Standard deviation", "number", "std"],
  q: ["Quantization step", "number", "step"],
};
const DEFAULT_SPECS: Record<string, string> = {
  lr: "{min: 1e-4, max: 3e-2, log: true}",
  hidden: "{values: [32, 64, 128]}",
  layers: "{min: 1, max: 3}",
  dropout: "{min: 0.0, max: 0.5}",
  activation: "{values: [relu, gelu, tanh]}",
  optimizer: "{values: [adam, adamw, sgd]}",
  momentum: "{min: 0.0, max: 0.95, when: {optimizer: sgd}}",
  weight_decay: "{min: 1e-6, max: 1e-2, log: true}",
  batch_size: "{values: [32, 64, 128]}",
  epochs: "{value: 12}",
  patience: "{value: 3}",
  channels: "{values: [8, 16, 32]}",
  blocks: "{min: 1, max: 3}",
};
const OF_MODEL: Record<string, string[]> = { cnn: ["channels", "blocks"], mlp: ["layers", "activation"] };

export function shapeOf(parameter: unknown): Shape {
  const block = asBlock(parameter);
  const { distribution } = block;
  if (distribution !== undefined) return DRAWN.find(([name]) => name === distribution)?.[0] ?? "other";
  if (block.values !== undefined && block.probabilities !== undefined) return "weighted";
  if (block.values !== undefined) return block.ordered === true ? "ordered" : "choice";
  if (block.min !== undefined || block.max !== undefined) return block.log === true ? "log" : "range";
  return block.value === undefined ? "other" : "constant";
}

export function ParametersForm({ draft }: { draft: Draft }) {
  const names = Object.keys(asBlock(valueAt(draft.document, ["parameters"])));
  const problem = names.length === 0 ? draft.problemAt(["parameters"]) : undefined;
  return (
    <div className="new-parameters">
      {names.map(name => (
        <Row key={name} draft={draft} name={name} />
      ))}
      {problem && <p className="field-problem">{problem}</p>}
      <Add draft={draft} names={names} />
    </div>
  );
}

function Row({ draft, name }: { draft: Draft; name: string }) {
  const path = ["parameters", name];
  const parameter = asBlock(valueAt(draft.document, path));
  const shape = shapeOf(parameter);
  const problem = draft.problemAt(path, "when");
  const choose = (next: Shape) => {
    if (next === "other") return;
    const listed = shape === "choice" || shape === "ordered";
    if (listed && (next === "choice" || next === "ordered")) {
      void draft.change([{ path: [...path, "ordered"], value: next === "ordered" ? "true" : null }]);
      return;
    }
    const bounds = shape === "range" || shape === "log";
    const keep = bounds && (next === "log" || (next === "range" && parameter.log === true));
    const log = { path: [...path, "log"], value: next === "log" ? "true" : null };
    const when = parameter.when && `, when: ${flow(parameter.when, draft.numbers, [...path, "when"])}}`;
    void draft.change(keep ? [log] : [{ path, value: when ? TEMPLATES[next].slice(0, -1) + when : TEMPLATES[next] }]);
  };
  const option = ([value, text]: [Shape, string]) => (
    <option key={value} value={value}>
      {text}
    </option>
  );
  return (
    <fieldset className="new-parameter" aria-label={`Parameter ${name}`}>
      <div className="new-parameter-row">
        <span className="new-parameter-name">{name}</span>
        <select aria-label={`Type of ${name}`} value={shape} onChange={event => choose(event.target.value as Shape)}>
          {shape === "other" && <option value="other">{String(parameter.distribution ?? "choose")}</option>}
          {SHAPES.map(option)}
          <optgroup label="Distributions">{DRAWN.map(option)}</optgroup>
        </select>
        <Bounds draft={draft} name={name} shape={shape} />
        <span className="new-parameter-acts">
          {!parameter.when && canDepend(draft, name) && (
            <Button
              quiet
              small
              title={`Add a condition to ${name}`}
              aria-label={`Add a condition to ${name}`}
              onClick={() => addCondition(draft, name)}
            >
              when
            </Button>
          )}
          <Button quiet small title={`Remove ${name}`} onClick={() => void draft.change([{ path, value: null }])}>
            <Icon name="close" size={14} />
          </Button>
        </span>
      </div>
      <Conditions draft={draft} name={name} />
      {problem && <p className="field-problem">{problem}</p>}
    </fieldset>
  );
}

function Bounds({ draft, name, shape }: { draft: Draft; name: string; shape: Shape }) {
  const path = ["parameters", name];
  const input = (key: string) => {
    const [label, kind, prefix] = FIELD_LABELS[key] ?? [key, "number", key];
    const typed = (
      <CommitInput
        aria-label={`${label} of ${name}`}
        aria-invalid={draft.problemAt([...path, key]) !== undefined || undefined}
        stored={shownAt(draft.document, draft.numbers, [...path, key])}
        numeric={kind === "number"}
        whole
        placeholder={key === "step" ? "step" : undefined}
        onCommit={typed => void draft.change([{ path: [...path, key], value: typedYaml(kind, typed) }])}
      />
    );
    return prefix ? (
      <span key={key} className="new-beside">
        <span aria-hidden="true">{prefix}</span>
        {typed}
      </span>
    ) : (
      <Fragment key={key}>{typed}</Fragment>
    );
  };
  if (shape !== "range" && shape !== "log") {
    const present = keysAt(draft.document, path).filter(key => key !== "distribution" && key !== "when");
    return <span className="new-bounds">{(FIELDS[shape] ?? present).map(input)}</span>;
  }
  return (
    <span className="new-bounds">
      {input("min")}
      <span aria-hidden="true">to</span>
      {input("max")}
      {shape === "range" && input("step")}
    </span>
  );
}

function Add({ draft, names }: { draft: Draft; names: string[] }) {
  const program = valueAt(draft.document, ["program"]);
  const model = String(valueAt(program, ["model"]) ?? "");
  const otherModels = Object.entries(OF_MODEL).flatMap(([of, keys]) => (of === model ? [] : keys));
  const known =
    kindOf(program) === "builtin" ? Object.keys(DEFAULT_SPECS).filter(each => !otherModels.includes(each)) : [];
  const left = known.filter(each => !names.includes(each));
  return (
    <AddName
      what="a parameter"
      existing={names}
      suggestions={left}
      onAdd={added =>
        void draft.change([{ path: ["parameters", added], value: DEFAULT_SPECS[added] ?? TEMPLATES.range }])
      }
    />
  );
}
