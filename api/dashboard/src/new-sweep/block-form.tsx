// A block of the sweep file as a collapsible form, generated from its JSON Schema.
import type { ReactNode } from "react";
import { Collapsible } from "./collapsible";
import { type BlockSpec, type KeySpec, labelOf, optionsOf } from "./schema";
import type { Draft } from "./sweep-file-draft";
import { KeyChoice, KeyField, KeyFlag } from "./sweep-file-key-fields";
import { keysAt, type Path, valueAt } from "./yaml-values";

type Props = {
  draft: Draft;
  block: string;
  title: string;
  spec: BlockSpec;
  only?: readonly string[];
  children?: ReactNode;
  after?: ReactNode;
  also?: string; // another key that is edited together with the block
};

export function BlockForm({ draft, block, title, spec, only, children, after, also }: Props) {
  const keys = spec.keys.filter(each => !only || only.includes(each.key));
  const problem = draft.problemAt([block]) ?? (also && draft.problemAt([also]));
  const count =
    keysAt(draft.document, [block]).length + (also && valueAt(draft.document, [also]) !== undefined ? 1 : 0);
  return (
    <Collapsible
      title={title}
      state={count === 0 ? "default" : `${count} set`}
      problem={problem}
      hint={spec.hint && firstSentence(spec.hint)}
    >
      {children}
      <div className="new-fields">
        <SpecFields draft={draft} base={[block]} keys={keys} />
        {after}
      </div>
    </Collapsible>
  );
}

/** The fields for keys of a block. */
export function SpecFields({ draft, base, keys }: { draft: Draft; base: Path; keys: readonly KeySpec[] }) {
  return keys.map(each => <SpecField key={each.key} draft={draft} path={[...base, each.key]} spec={each} />);
}

export function SpecField({ draft, path, spec }: { draft: Draft; path: Path; spec: KeySpec }) {
  const label = labelOf(spec.key);
  if (spec.kind === "flag") return <KeyFlag draft={draft} path={path} label={label} hint={spec.hint} />;
  if (spec.kind === "choice") {
    return (
      <KeyChoice
        draft={draft}
        path={path}
        label={label}
        choices={optionsOf(spec.choices)}
        standard={spec.defaultText}
        hint={spec.hint}
      />
    );
  }
  return (
    <KeyField
      draft={draft}
      path={path}
      label={label}
      kind={spec.kind}
      hint={spec.hint}
      placeholder={spec.defaultText === "" ? undefined : spec.defaultText}
    />
  );
}

function firstSentence(text: string): string {
  const end = text.search(/\.(\s|$)/);
  return end < 0 ? text : text.slice(0, end + 1);
}
