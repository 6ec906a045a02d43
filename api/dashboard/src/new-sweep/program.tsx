// What a trial runs: a built-in model, a function, or a script.
import type { ReactNode } from "react";
import { Field } from "../widgets/field";
import { AddName } from "./add-name";
import { CodeUpload } from "./code-upload";
import { Collapsible } from "./collapsible";
import { DataForm } from "./data";
import { objectivePaths } from "./objective-yaml-paths";
import type { Change, Draft } from "./sweep-file-draft";
import { KeyChoice, KeyField } from "./sweep-file-key-fields";
import { keysAt, quoted, valueAt } from "./yaml-values";

type ProgramKind = "builtin" | "function" | "command";

const KINDS: [ProgramKind, string][] = [
  ["builtin", "Built-in model"],
  ["function", "Your own function"],
  ["command", "Your own script"],
];
const MODELS = [
  ["mlp", "mlp: fully connected"],
  ["cnn", "cnn: convolutional, for images"],
] as const;
const ARGUMENTS = [
  ["", "inferred from its parameter"],
  ["trial", "the trial"],
  ["config", "a config mapping"],
] as const;
const TEMPLATES: Record<ProgramKind, string> = {
  builtin: "{model: mlp, data: {name: digits}}",
  function: '{function: "train:objective"}',
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the service substitutes it
  command: '{command: [python, train.py, "${args}"]}',
};
const METRIC_OF: Record<string, string> = { diabetes: "{name: val_rmse, goal: minimize}" };
const CLASSIFICATION_METRIC = "{name: val_accuracy, goal: maximize}";

export function kindOf(program: unknown): ProgramKind {
  if (valueAt(program, ["function"]) !== undefined) return "function";
  return valueAt(program, ["command"]) !== undefined || valueAt(program, ["script"]) !== undefined
    ? "command"
    : "builtin";
}

export function ProgramForm({ draft }: { draft: Draft }) {
  const program = valueAt(draft.document, ["program"]);
  const kind = kindOf(program);
  const choose = (next: ProgramKind) => {
    const bundle = valueAt(program, ["bundle"]);
    const changes: Change[] = [{ path: ["program"], value: TEMPLATES[next] }];
    if (typeof bundle === "string" && next !== "builtin") {
      changes.push({ path: ["program", "bundle"], value: quoted(bundle) });
    }
    void draft.change(changes);
  };
  return (
    <>
      <Field
        label="Program type"
        problem={Object.keys(program ?? {}).length ? undefined : draft.problemAt(["program"])}
      >
        <select value={kind} onChange={event => choose(event.target.value as ProgramKind)}>
          {KINDS.map(([value, name]) => (
            <option key={value} value={value}>
              {name}
            </option>
          ))}
        </select>
      </Field>
      {kind === "builtin" && <Builtin draft={draft} />}
      {kind === "function" && <OwnFunction draft={draft} />}
      {kind === "command" && <Script draft={draft} />}
    </>
  );
}

function Builtin({ draft }: { draft: Draft }) {
  const metricOf = (data: string): Change[] => {
    const own = data === "file" || valueAt(draft.document, ["metrics"]) !== undefined;
    return own ? [] : [{ path: ["metric"], value: METRIC_OF[data] ?? CLASSIFICATION_METRIC }];
  };
  return (
    <>
      <KeyChoice draft={draft} path={["program", "model"]} label="Model" choices={MODELS} />
      <DataForm draft={draft} path={["program", "data"]} more={metricOf} />
    </>
  );
}

function OwnFunction({ draft }: { draft: Draft }) {
  return (
    <>
      <KeyField
        draft={draft}
        path={["program", "function"]}
        label="Function"
        placeholder="train:objective"
        hint="MODULE:FUNCTION in the uploaded code, called with each trial"
      />
      <CodeUpload draft={draft} />
      <More draft={draft} keys={["build", "argument", "constraints", "preload", "data", "env"]}>
        <div className="new-fields">
          <DataForm draft={draft} path={["program", "data"]} optional />
          <KeyField
            draft={draft}
            path={["program", "build"]}
            label="Model builder"
            placeholder="build, in the same module"
            hint="MODULE:FUNCTION that builds the network, for ensembles"
          />
          <KeyChoice draft={draft} path={["program", "argument"]} label="Function argument" choices={ARGUMENTS} />
          <KeyField
            draft={draft}
            path={["program", "constraints"]}
            label="Constraints"
            placeholder="none"
            hint="MODULE:FUNCTION, called with each completed trial; values above 0 violate the constraint"
          />
          <KeyField
            draft={draft}
            path={["program", "preload"]}
            kind="list"
            label="Packages to preload"
            placeholder="none"
            hint="Imported once before trials are forked"
          />
        </div>
        <Environment draft={draft} />
      </More>
    </>
  );
}

function Script({ draft }: { draft: Draft }) {
  const names = objectivePaths(draft.document).map(path => valueAt(draft.document, [...path, "name"]));
  const monitored = valueAt(draft.document, ["early_terminate", "metric"]);
  const metrics = new Set([...names, monitored, ...keysAt(draft.document, ["program", "metrics"])]);
  return (
    <>
      <KeyField
        draft={draft}
        path={["program", "command"]}
        kind="list"
        label="Command"
        // biome-ignore lint/suspicious/noTemplateCurlyInString: the service substitutes it
        hint={'Comma-separated arguments; "${args}" becomes --lr=0.01 and so on'}
      />
      {[...metrics]
        .filter(metric => typeof metric === "string" && metric !== "")
        .map(metric => (
          <KeyField
            key={String(metric)}
            draft={draft}
            path={["program", "metrics", String(metric)]}
            label={`Output pattern for ${metric}`}
            placeholder="auto"
            hint="auto, or a regular expression. Not needed if the script calls wandb.log or writes to the file in PODIUM_METRICS"
          />
        ))}
      <CodeUpload draft={draft} />
      <More draft={draft} keys={["script", "env"]}>
        <div className="new-fields">
          <KeyField
            draft={draft}
            path={["program", "script"]}
            label="Script"
            placeholder="train.py"
            // biome-ignore lint/suspicious/noTemplateCurlyInString: the service substitutes it
            hint={'Replaces "${program}" in the command'}
          />
        </div>
        <Environment draft={draft} />
      </More>
    </>
  );
}

/** The environment variables of the program's trials. */
function Environment({ draft }: { draft: Draft }) {
  const env = keysAt(draft.document, ["program", "env"]);
  return (
    <>
      <div className="new-fields">
        {env.map(name => (
          <KeyField
            key={name}
            draft={draft}
            path={["program", "env", name]}
            label={`Environment variable ${name}`}
            hint="Leave empty to remove it"
          />
        ))}
      </div>
      <AddName
        what="a variable"
        existing={env}
        onAdd={name => void draft.change([{ path: ["program", "env", name], value: '"1"' }])}
      />
    </>
  );
}

/** Rarely used options. */
function More({ draft, keys, children }: { draft: Draft; keys: readonly string[]; children: ReactNode }) {
  const set = keys.filter(key => valueAt(draft.document, ["program", key]) !== undefined).length;
  const problem = keys.map(key => draft.problemAt(["program", key])).find(Boolean);
  return (
    <div className="new-whole">
      <Collapsible title="Advanced" state={set === 0 ? "default" : `${set} set`} problem={problem}>
        {children}
      </Collapsible>
    </div>
  );
}
