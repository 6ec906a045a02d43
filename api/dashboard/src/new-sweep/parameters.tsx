// The search space as rows: each parameter with its kind and its bounds, one to add, one to take out.
import { useState } from "react";
import { asBlock } from "../sweep/words";
import { Button } from "../widgets/button";
import { Icon } from "../widgets/icon";
import type { Draft } from "./draft";
import { Typed } from "./key-field";
import { kindOf } from "./program";
import { shownAt, typedYaml, valueAt } from "./values";

type Shape = "range" | "log" | "choice" | "constant" | "other";

const SHAPES: [Shape, string][] = [
  ["range", "range"],
  ["log", "log range"],
  ["choice", "choice"],
  ["constant", "constant"],
];
const BEGIN: Record<Exclude<Shape, "other">, string> = {
  range: "{min: 0.0, max: 1.0}",
  log: "{min: 1e-4, max: 1e-1, log: true}",
  choice: "{values: [16, 32, 64]}",
  constant: "{value: 1}",
};
const KNOWN: Record<string, string> = {
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
  if (block.distribution !== undefined) return "other";
  if (block.values !== undefined) return "choice";
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
  const problem = draft.problemAt(path);
  const choose = (next: Shape) => {
    if (next === "other") return;
    const bounds = shape === "range" || shape === "log";
    const keep = bounds && (next === "log" || (next === "range" && parameter.log === true));
    const log = { path: [...path, "log"], value: next === "log" ? "true" : null };
    void draft.change(keep ? [log] : [{ path, value: BEGIN[next] }]);
  };
  const when = Object.keys(asBlock(parameter.when)).join(", ");
  return (
    <fieldset className="new-parameter" aria-label={`Parameter ${name}`}>
      <div className="new-parameter-row">
        <span className="new-parameter-name" title={name}>
          {name}
        </span>
        <select aria-label={`Kind of ${name}`} value={shape} onChange={event => choose(event.target.value as Shape)}>
          {shape === "other" && <option value="other">other, see the text</option>}
          {SHAPES.map(([value, text]) => (
            <option key={value} value={value}>
              {text}
            </option>
          ))}
        </select>
        <Bounds draft={draft} name={name} shape={shape} />
        <Button quiet small title={`Take ${name} out`} onClick={() => void draft.change([{ path, value: null }])}>
          <Icon name="close" size={14} />
        </Button>
      </div>
      {when && <p className="field-hint">Takes part only where {when} has certain values: see `when` in the text.</p>}
      {problem && <p className="field-problem">{problem}</p>}
    </fieldset>
  );
}

function Bounds({ draft, name, shape }: { draft: Draft; name: string; shape: Shape }) {
  const input = (key: string, what: string, kind: "number" | "list" | "yaml", placeholder?: string) => (
    <Typed
      aria-label={`${what} of ${name}`}
      there={shownAt(draft.document, draft.numbers, ["parameters", name, key])}
      numeric={kind === "number"}
      placeholder={placeholder}
      onCommit={typed => void draft.change([{ path: ["parameters", name, key], value: typedYaml(kind, typed) }])}
    />
  );
  if (shape === "choice") return <span className="new-bounds">{input("values", "Values", "list")}</span>;
  if (shape === "constant") return <span className="new-bounds">{input("value", "Value", "yaml")}</span>;
  if (shape === "other") return <span className="new-bounds" />;
  return (
    <span className="new-bounds">
      {input("min", "Lower end", "number")}
      <span aria-hidden="true">to</span>
      {input("max", "Upper end", "number")}
      {shape === "range" && input("step", "Step", "number", "step")}
    </span>
  );
}

function Add({ draft, names }: { draft: Draft; names: string[] }) {
  const [name, setName] = useState("");
  const program = valueAt(draft.document, ["program"]);
  const model = String(valueAt(program, ["model"]) ?? "");
  const strange = Object.entries(OF_MODEL).flatMap(([of, keys]) => (of === model ? [] : keys));
  const known = kindOf(program) === "builtin" ? Object.keys(KNOWN).filter(each => !strange.includes(each)) : [];
  const left = known.filter(each => !names.includes(each));
  const wanted = name.trim();
  const add = () => {
    if (wanted === "" || names.includes(wanted)) return;
    void draft.change([{ path: ["parameters", wanted], value: KNOWN[wanted] ?? BEGIN.range }]);
    setName("");
  };
  return (
    <div className="new-add">
      <input
        aria-label="Name of a parameter to add"
        placeholder="name"
        list="new-known-parameters"
        value={name}
        autoComplete="off"
        onChange={event => setName(event.target.value)}
        onKeyDown={event => event.key === "Enter" && add()}
      />
      <datalist id="new-known-parameters">
        {left.map(each => (
          <option key={each} value={each} />
        ))}
      </datalist>
      <Button small disabled={wanted === "" || names.includes(wanted)} onClick={add}>
        <Icon name="plus" size={14} /> Add a parameter
      </Button>
      {names.includes(wanted) && <span className="field-hint">{wanted} is there already.</span>}
    </div>
  );
}
