// The data of a program: a built-in data set, or files on the server.
import { Field } from "../widgets/field";
import type { Change, Draft } from "./sweep-file-draft";
import { KeyChoice, KeyField } from "./sweep-file-key-fields";
import { type Path, quoted, shownAt, valueAt } from "./yaml-values";

const DATA: [string, string][] = [
  ["digits", "digits: 1,797 images of 8 × 8, 10 classes"],
  ["diabetes", "diabetes: 442 patients, regression"],
  ["mnist", "mnist: IDX files on the server"],
  ["fashion-mnist", "fashion-mnist: IDX files on the server"],
  ["file", "your own table: .csv, .npz or .parquet"],
  ["idx", "your own IDX files"],
];
const TASKS = [
  ["", "inferred from the target"],
  ["classification", "classification"],
  ["regression", "regression"],
] as const;
const TEMPLATES: Record<string, string> = {
  mnist: "{name: mnist, root: /data/mnist}",
  "fashion-mnist": "{name: fashion-mnist, root: /data/fashion-mnist}",
  file: "{file: /data/rows.csv, target: label}",
  idx: "{idx: /data/images}",
};
const WHERE = "Absolute path on the server";

type Props = { draft: Draft; path: Path; optional?: boolean; more?: (kind: string) => Change[] };

export function DataForm({ draft, path, optional, more }: Props) {
  const data = valueAt(draft.document, path);
  const own = ["file", "idx"].find(key => valueAt(data, [key]) !== undefined);
  const kind = own ?? shownAt(draft.document, draft.numbers, [...path, "name"]);
  const choose = (next: string) => {
    const value = next === "" ? null : (TEMPLATES[next] ?? `{name: ${quoted(next)}}`);
    void draft.change([{ path: [...path], value }, ...(more?.(next) ?? [])]);
  };
  const field = (key: string, label: string, hint?: string, placeholder?: string) => (
    <KeyField
      draft={draft}
      path={[...path, key]}
      kind={key === "features" ? "list" : "text"}
      label={label}
      hint={hint}
      placeholder={placeholder}
    />
  );
  return (
    <>
      <Field
        label="Data"
        problem={draft.problemAt([...path, "name"]) ?? (own ? undefined : draft.problemAt(path, "root"))}
      >
        <select value={kind} onChange={event => choose(event.target.value)}>
          {optional && <option value="">none</option>}
          {!DATA.some(([value]) => value === kind) && !(optional && kind === "") && (
            <option value={kind}>{kind || "choose"}</option>
          )}
          {DATA.map(([value, text]) => (
            <option key={value} value={value}>
              {text}
            </option>
          ))}
        </select>
      </Field>
      {!own && kind.endsWith("mnist") && field("root", "Folder of the IDX files", WHERE)}
      {kind === "idx" && field("idx", "Folder of the IDX files", `With the file names of MNIST. ${WHERE}`)}
      {kind === "file" && (
        <>
          {field("file", "File", `Or a folder of files of one type. ${WHERE}`)}
          {field("target", "Target column")}
          {field("features", "Feature columns", undefined, "all others")}
        </>
      )}
      {own && (
        <>
          <KeyChoice draft={draft} path={[...path, "task"]} label="Task" choices={TASKS} />
          {field("name", "Data set name", undefined, "derived from the path")}
        </>
      )}
    </>
  );
}
