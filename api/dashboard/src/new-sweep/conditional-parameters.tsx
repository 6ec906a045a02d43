// Conditions of a parameter: it is active only if another parameter has certain values.
import { Button } from "../widgets/button";
import { CommitInput } from "../widgets/commit-input";
import { Icon } from "../widgets/icon";
import type { Draft } from "./sweep-file-draft";
import { flow, keysAt, listAt, type Path, shownAt, typedYaml, valueAt } from "./yaml-values";

const MAX_CHECKBOXES = 12; // a longer list of values is typed

export function canDepend(draft: Draft, name: string): boolean {
  return keysAt(draft.document, ["parameters"]).some(each => each !== name);
}

/** Adds a first condition to a parameter. */
export function addCondition(draft: Draft, name: string): void {
  const [parent] = unusedParents(draft, name);
  if (parent === undefined) return;
  void draft.change([{ path: ["parameters", name, "when", parent], value: firstValueOf(draft, parent) }]);
}

/** The parameters that may be used in another condition; those with a list of values first. */
function unusedParents(draft: Draft, name: string): string[] {
  const used = [name, ...keysAt(draft.document, ["parameters", name, "when"])];
  const left = keysAt(draft.document, ["parameters"]).filter(each => !used.includes(each));
  const listed = (each: string) => Number(listAt(draft.document, ["parameters", each, "values"]).length > 0);
  return left.sort((one, other) => listed(other) - listed(one));
}

function firstValueOf(draft: Draft, parent: string): string {
  const path = ["parameters", parent];
  if (listAt(draft.document, [...path, "values"]).length > 0) path.push("values", "0");
  else path.push(valueAt(draft.document, [...path, "value"]) === undefined ? "min" : "value");
  return flow(valueAt(draft.document, path) ?? 1, draft.numbers, path);
}

export function Conditions({ draft, name }: { draft: Draft; name: string }) {
  const path = ["parameters", name, "when"];
  const parents = keysAt(draft.document, path);
  const left = unusedParents(draft, name);
  const problem = draft.problemAt(path);
  if (parents.length === 0 && !problem) return null;
  const replace = (parent: string, next: string) =>
    void draft.change([
      { path: [...path, parent], value: null },
      { path: [...path, next], value: firstValueOf(draft, next) },
    ]);
  return (
    <div className="new-when">
      {parents.map((parent, place) => (
        <div key={parent} className="new-when-row">
          <span>{place === 0 ? "only if" : "and"}</span>
          <select
            aria-label={`${name} depends on`}
            value={parent}
            onChange={event => replace(parent, event.target.value)}
          >
            {[parent, ...left].map(each => (
              <option key={each}>{each}</option>
            ))}
          </select>
          <span>is</span>
          <ConditionValues draft={draft} name={name} parent={parent} />
          <Button
            quiet
            small
            title={`Remove the condition on ${parent}`}
            onClick={() => void draft.change([{ path: [...path, parent], value: null }])}
          >
            <Icon name="close" size={14} />
          </Button>
        </div>
      ))}
      {problem && <p className="field-problem">{problem}</p>}
      {left.length > 0 && (
        <Button quiet small onClick={() => addCondition(draft, name)}>
          <Icon name="plus" size={14} /> Add condition
        </Button>
      )}
    </div>
  );
}

/** The values that activate the parameter: checkboxes if the parent has a list of values, else an input. */
function ConditionValues({ draft, name, parent }: { draft: Draft; name: string; parent: string }) {
  const path = ["parameters", name, "when", parent];
  const from = ["parameters", parent, "values"];
  const values = listAt(draft.document, from);
  const chosen = chosenAt(draft.document, path);
  if (values.length === 0 || values.length > MAX_CHECKBOXES) {
    const put = (typed: string) => {
      const list = typed.includes(",") && !typed.trim().startsWith("[");
      void draft.change([{ path, value: typedYaml(list ? "list" : "value", typed) }]);
    };
    return (
      <CommitInput
        aria-label={`Values of ${parent} that activate ${name}`}
        stored={shownAt(draft.document, draft.numbers, path)}
        onCommit={put}
      />
    );
  }
  const setChosen = (toggled: unknown, on: boolean) =>
    void draft.update(({ document, numbers }) => {
      const before = chosenAt(document, path);
      const next = listAt(document, from)
        .map((value, place) => ({ value, text: flow(value, numbers, [...from, String(place)]) }))
        .filter(({ value }) => (same(value, toggled) ? on : before.some(each => same(each, value))))
        .map(({ text }) => text);
      if (next.length === 0) return []; // a condition has at least one value
      return [{ path, value: next.length === 1 ? (next[0] ?? "") : `[${next}]` }];
    });
  return (
    <span className="new-ticks">
      {values.map((value, place) => {
        const text = flow(value, draft.numbers, [...from, String(place)]);
        return (
          <label key={text}>
            <input
              type="checkbox"
              checked={chosen.some(each => same(each, value))}
              onChange={event => setChosen(value, event.target.checked)}
            />{" "}
            {text}
          </label>
        );
      })}
    </span>
  );
}

function chosenAt(document: unknown, path: Path): unknown[] {
  const chosen = valueAt(document, path);
  return Array.isArray(chosen) ? chosen : [chosen];
}

function same(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
