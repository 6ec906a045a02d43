// A block of the sweep file as a folded form, made of its JSON Schema.
import type { ReactNode } from "react";
import type { Draft } from "./draft";
import { KeyChoice, KeyField, KeyFlag } from "./key-field";
import { type BlockSpec, type KeySpec, labelOf } from "./schema";
import { valueAt } from "./values";

type Props = {
  draft: Draft;
  block: string;
  title: string;
  spec: BlockSpec;
  only?: readonly string[];
  children?: ReactNode;
};

export function BlockForm({ draft, block, title, spec, only, children }: Props) {
  const keys = spec.keys.filter(each => !only || only.includes(each.key));
  const given = valueAt(draft.document, [block]);
  const problem = draft.problemAt([block]);
  const count = typeof given === "object" && given !== null ? Object.keys(given).length : 0;
  return (
    <details className="new-block" open={problem !== undefined || undefined}>
      <summary>
        <span>{title}</span>
        <span className={problem ? "new-block-wrong" : "new-block-state"}>
          {problem ? "to mend" : count === 0 ? "standard" : `${count} set`}
        </span>
      </summary>
      {spec.hint && <p className="field-hint">{firstSentence(spec.hint)}</p>}
      {children}
      <div className="new-fields">
        {keys.map(each => (
          <SpecField key={each.key} draft={draft} block={block} spec={each} />
        ))}
      </div>
    </details>
  );
}

function SpecField({ draft, block, spec }: { draft: Draft; block: string; spec: KeySpec }) {
  const path = [block, spec.key];
  const label = labelOf(spec.key);
  if (spec.kind === "flag") return <KeyFlag draft={draft} path={path} label={label} hint={spec.hint} />;
  if (spec.kind === "choice") {
    const choices = spec.choices.map(choice => [choice, choice.replaceAll("_", " ")] as const);
    return (
      <KeyChoice draft={draft} path={path} label={label} choices={choices} standard={spec.standard} hint={spec.hint} />
    );
  }
  return (
    <KeyField
      draft={draft}
      path={path}
      label={label}
      kind={spec.kind}
      hint={spec.hint}
      placeholder={spec.standard === "" ? undefined : spec.standard}
    />
  );
}

function firstSentence(text: string): string {
  const end = text.search(/\.(\s|$)/);
  return end < 0 ? text : text.slice(0, end + 1);
}
