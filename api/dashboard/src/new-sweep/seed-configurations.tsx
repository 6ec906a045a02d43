// Seed configurations, which run before the search proposes any: one row each, one column per parameter.

import { formatCount } from "../format";
import { Button } from "../widgets/button";
import { CommitInput } from "../widgets/commit-input";
import { Icon } from "../widgets/icon";
import { ScrollX } from "../widgets/scroll-x";
import { Collapsible } from "./collapsible";
import type { Draft } from "./sweep-file-draft";
import { keysAt, listAt, shownAt, typedYaml } from "./yaml-values";

const SHOWN = 20;

export function SeedConfigurationsForm({ draft }: { draft: Draft }) {
  const rows = listAt(draft.document, ["enqueue"]);
  const shown = rows.slice(0, SHOWN);
  const names = new Set(keysAt(draft.document, ["parameters"]));
  for (const [place] of shown.entries()) {
    for (const name of keysAt(draft.document, ["enqueue", String(place)])) names.add(name);
  }
  const add = () =>
    void draft.update(({ document }) => {
      const { length } = listAt(document, ["enqueue"]);
      return length === 0
        ? [{ path: ["enqueue"], value: "[{}]" }]
        : [{ path: ["enqueue", String(length)], value: "{}" }];
    });
  return (
    <Collapsible
      title="Seed configurations"
      state={rows.length === 0 ? "none" : formatCount(rows.length)}
      hint="Known configurations that run before the search proposes its own. Empty fields are searched."
      problem={draft.problemAt(["enqueue"])}
    >
      {shown.length > 0 && (
        <ScrollX label="Seed configurations">
          <table className="new-rows">
            <thead>
              <tr>
                {[...names].map(name => (
                  <th key={name} scope="col">
                    {name}
                  </th>
                ))}
                <th aria-label="Remove" />
              </tr>
            </thead>
            <tbody>
              {shown.map((_, place) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: a row is identified by its index in the file
                <Row key={place} draft={draft} place={place} names={[...names]} />
              ))}
            </tbody>
          </table>
        </ScrollX>
      )}
      {rows.length > SHOWN && <p className="field-hint">{formatCount(rows.length - SHOWN)} more in the sweep file.</p>}
      <Button small disabled={names.size === 0} onClick={add}>
        <Icon name="plus" size={14} /> Add a configuration
      </Button>
      {names.size === 0 && <span className="field-hint"> Add a parameter first.</span>}
    </Collapsible>
  );
}

function Row({ draft, place, names }: { draft: Draft; place: number; names: readonly string[] }) {
  const row = ["enqueue", String(place)];
  const problem = draft.problemAt(row);
  return (
    <>
      <tr>
        {names.map(name => (
          <td key={name}>
            <CommitInput
              aria-label={`${name} of configuration ${place + 1}`}
              aria-invalid={draft.problemAt([...row, name]) !== undefined || undefined}
              whole
              placeholder="searched"
              stored={shownAt(draft.document, draft.numbers, [...row, name])}
              onCommit={typed => void draft.change([{ path: [...row, name], value: typedYaml("value", typed) }])}
            />
          </td>
        ))}
        <td>
          <Button
            quiet
            small
            title={`Remove configuration ${place + 1}`}
            onClick={() => void draft.change([{ path: row, value: null }])}
          >
            <Icon name="close" size={14} />
          </Button>
        </td>
      </tr>
      {problem && (
        <tr>
          <td colSpan={names.length + 1} className="field-problem">
            {problem}
          </td>
        </tr>
      )}
    </>
  );
}
