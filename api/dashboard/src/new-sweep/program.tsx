// What a trial runs: a built-in model on some data, a function, or a script.
import { Field } from "../widgets/field";
import type { Change, Draft } from "./draft";
import { KeyChoice, KeyField } from "./key-field";
import { CodeUpload } from "./upload";
import { quoted, shownAt, valueAt } from "./values";

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
const DATA: [string, string][] = [
  ["digits", "digits: 1,797 images of 8 × 8, ten classes"],
  ["diabetes", "diabetes: 442 patients, a value"],
  ["mnist", "mnist: IDX files on the service's machine"],
  ["fashion-mnist", "fashion-mnist: IDX files on the service's machine"],
  ["file", "a file of your own"],
];
const NEEDS_ROOT = ["mnist", "fashion-mnist"];
const BEGIN: Record<ProgramKind, string> = {
  builtin: "{model: mlp, data: {name: digits}}",
  function: '{function: "train:objective"}',
  // biome-ignore lint/suspicious/noTemplateCurlyInString: it is the service that fills it in
  command: '{command: [python, train.py, "${args}"]}',
};
const METRIC_OF: Record<string, string> = { diabetes: "{name: val_rmse, goal: minimize}" };
const CLASSES_METRIC = "{name: val_accuracy, goal: maximize}";

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
    const changes: Change[] = [{ path: ["program"], value: BEGIN[next] }];
    if (typeof bundle === "string" && next !== "builtin") {
      changes.push({ path: ["program", "bundle"], value: quoted(bundle) });
    }
    void draft.change(changes);
  };
  return (
    <>
      <Field
        label="What a trial runs"
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
      {kind === "function" && (
        <>
          <KeyField
            draft={draft}
            path={["program", "function"]}
            label="Function"
            placeholder="train:objective"
            hint="MODULE:FUNCTION in the uploaded code, called with each trial"
          />
          <CodeUpload draft={draft} />
        </>
      )}
      {kind === "command" && <Script draft={draft} />}
    </>
  );
}

function Builtin({ draft }: { draft: Draft }) {
  const data = valueAt(draft.document, ["program", "data"]);
  const file = valueAt(data, ["file"]) !== undefined;
  const name = file ? "file" : shownAt(draft.document, draft.numbers, ["program", "data", "name"]);
  const choose = (next: string) => {
    const root = NEEDS_ROOT.includes(next) ? `, root: /data/${next}` : "";
    const value = next === "file" ? "{file: /data/rows.csv, target: label}" : `{name: ${quoted(next)}${root}}`;
    const metric = METRIC_OF[next] ?? (next === "file" ? null : CLASSES_METRIC);
    const changes: Change[] = [{ path: ["program", "data"], value }];
    if (metric !== null) changes.push({ path: ["metric"], value: metric });
    void draft.change(changes);
  };
  const where = "The whole path, on the service's machine";
  return (
    <>
      <KeyChoice draft={draft} path={["program", "model"]} label="Model" choices={MODELS} />
      <Field label="Data" problem={draft.problemAt(["program", "data", "name"])}>
        <select value={name} onChange={event => choose(event.target.value)}>
          {!DATA.some(([value]) => value === name) && <option value={name}>{name || "choose"}</option>}
          {DATA.map(([value, text]) => (
            <option key={value} value={value}>
              {text}
            </option>
          ))}
        </select>
      </Field>
      {NEEDS_ROOT.includes(name) && (
        <KeyField draft={draft} path={["program", "data", "root"]} label="Folder of the IDX files" hint={where} />
      )}
      {file && (
        <>
          <KeyField
            draft={draft}
            path={["program", "data", "file"]}
            label="File"
            hint={`.csv, .npz or .parquet. ${where}`}
          />
          <KeyField draft={draft} path={["program", "data", "target"]} label="Column to predict" />
          <KeyField
            draft={draft}
            path={["program", "data", "features"]}
            kind="list"
            label="Columns to learn from"
            placeholder="all others"
          />
        </>
      )}
    </>
  );
}

function Script({ draft }: { draft: Draft }) {
  const metric = shownAt(draft.document, draft.numbers, ["metric", "name"]);
  return (
    <>
      <KeyField
        draft={draft}
        path={["program", "command"]}
        kind="list"
        label="Command"
        // biome-ignore lint/suspicious/noTemplateCurlyInString: it is the service that fills it in
        hint={'Words, with commas between; "${args}" becomes --lr=0.01 and so on'}
      />
      {metric && (
        <KeyField
          draft={draft}
          path={["program", "metrics", metric]}
          label={`Pattern that finds ${metric} in what is printed`}
          placeholder={`${metric}[=: ]+([-+.0-9eE]+)`}
          hint="Its first group is the value. Leave it out if the script writes JSON lines to the file in PODIUM_METRICS"
        />
      )}
      <CodeUpload draft={draft} />
    </>
  );
}
