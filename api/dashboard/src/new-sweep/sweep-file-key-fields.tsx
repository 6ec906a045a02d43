// Fields for one key of the sweep file: text, a choice, and a flag.
import type { ReactNode } from "react";
import { CommitInput } from "../widgets/commit-input";
import { Field } from "../widgets/field";
import type { Change, Draft } from "./sweep-file-draft";
import { type Kind, type Path, quoted, shownAt, typedYaml } from "./yaml-values";

type Props = {
  draft: Draft;
  path: Path;
  label: ReactNode;
  kind?: Kind;
  hint?: ReactNode;
  placeholder?: string;
  suggestions?: readonly string[];
};

export function KeyField({ draft, path, label, kind = "text", hint, placeholder, suggestions }: Props) {
  const stored = shownAt(draft.document, draft.numbers, path);
  const list = suggestions ? `known-${path.join("-")}` : undefined;
  return (
    <>
      <Field label={label} hint={hint} problem={draft.problemAt(path)}>
        <CommitInput
          stored={stored}
          placeholder={placeholder}
          numeric={kind === "number"}
          list={list}
          onCommit={typed => void draft.change([{ path: [...path], value: typedYaml(kind, typed) }])}
        />
      </Field>
      {suggestions && (
        <datalist id={list}>
          {suggestions.map(each => (
            <option key={each} value={each} />
          ))}
        </datalist>
      )}
    </>
  );
}

type TextProps = { draft: Draft; path: Path; label: string; hint?: string };

/** A text of several lines. */
export function KeyText({ draft, path, label, hint }: TextProps) {
  return (
    <Field label={label} hint={hint} problem={draft.problemAt(path)}>
      <CommitInput
        lines={3}
        stored={shownAt(draft.document, draft.numbers, path)}
        onCommit={typed => void draft.change([{ path: [...path], value: typedYaml("text", typed) }])}
      />
    </Field>
  );
}

type ChoiceProps = {
  draft: Draft;
  path: Path;
  label: ReactNode;
  choices: readonly (readonly [value: string, name: string])[];
  standard?: string;
  hint?: ReactNode;
  changesFor?: (value: string) => Change[] | undefined; // undefined: sets the key itself
  problem?: string;
  stored?: string;
};

/** A key with a few allowed values; the default is not written to the file. */
export function KeyChoice({ draft, path, label, choices, standard = "", hint, changesFor, ...rest }: ChoiceProps) {
  const stored = rest.stored ?? (shownAt(draft.document, draft.numbers, path) || standard);
  const known = choices.some(([value]) => value === stored);
  return (
    <Field label={label} hint={hint} problem={rest.problem ?? draft.problemAt(path)}>
      <select
        value={stored}
        onChange={event => {
          const value = event.target.value;
          const itself = [{ path: [...path], value: value === standard ? null : quoted(value) }];
          void draft.change(changesFor?.(value) ?? itself);
        }}
      >
        {!known && <option value={stored}>{stored === "" ? "choose" : stored}</option>}
        {choices.map(([value, name]) => (
          <option key={value} value={value}>
            {name}
          </option>
        ))}
      </select>
    </Field>
  );
}

type FlagProps = { draft: Draft; path: Path; label: string; hint?: ReactNode };

export function KeyFlag({ draft, path, label, hint }: FlagProps) {
  const on = shownAt(draft.document, draft.numbers, path) === "true";
  return (
    <div className="new-flag">
      <label>
        <input
          type="checkbox"
          checked={on}
          onChange={() => void draft.change([{ path: [...path], value: on ? null : "true" }])}
        />
        {label}
      </label>
      {hint && <p className="field-hint">{hint}</p>}
    </div>
  );
}
