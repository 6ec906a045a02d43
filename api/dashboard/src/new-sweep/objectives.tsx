// The objectives of the trials: one, or several, of which the first may have a target.
import { Button } from "../widgets/button";
import { Field } from "../widgets/field";
import { Icon } from "../widgets/icon";
import { objectivePaths } from "./objective-yaml-paths";
import { kindOf } from "./program";
import type { Change, Draft, Parsed } from "./sweep-file-draft";
import { KeyChoice, KeyField } from "./sweep-file-key-fields";
import { flow, type Path, quoted, shownAt, valueAt } from "./yaml-values";

const MAX_OBJECTIVES = 8;
const GOALS = [
  ["maximize", "higher is better"],
  ["minimize", "lower is better"],
] as const;
const RULES = [
  ["last", "last reported value"],
  ["best", "best reported value"],
  ["min", "smallest reported value"],
  ["max", "largest reported value"],
] as const;
const BUILTIN_METRICS: Record<string, string> = {
  val_accuracy: "maximize",
  val_loss: "minimize",
  val_rmse: "minimize",
  val_mae: "minimize",
};

export function Objectives({ draft }: { draft: Draft }) {
  const paths = objectivePaths(draft.document);
  const several = valueAt(draft.document, ["metrics"]) !== undefined;
  const add = () => void draft.update(appendObjective);
  const remove = (place: number) => void draft.update(current => removeObjective(current, place));
  const more = (
    <div className="new-more">
      {paths.length < MAX_OBJECTIVES && (
        <Button small quiet onClick={add}>
          <Icon name="plus" size={14} /> Add an objective
        </Button>
      )}
    </div>
  );
  if (!several) {
    return (
      <>
        <Objective draft={draft} path={["metric"]} first />
        {more}
      </>
    );
  }
  const listProblem = draft.problemAt(["metric"]) ?? (paths.length > 1 ? undefined : draft.problemAt(["metrics"]));
  return (
    <div className="new-objectives">
      {paths.map((path, place) => (
        <fieldset key={path.join()} className="new-objective">
          <legend>
            Objective {place + 1}
            {paths.length > 1 && (
              <Button quiet small title={`Remove objective ${place + 1}`} onClick={() => remove(place)}>
                <Icon name="close" size={14} />
              </Button>
            )}
          </legend>
          <div className="new-fields">
            <Objective draft={draft} path={path} first={place === 0} />
          </div>
        </fieldset>
      ))}
      {listProblem && <p className="field-problem">{listProblem}</p>}
      {more}
    </div>
  );
}

function appendObjective({ document, numbers }: Parsed): Change[] {
  const paths = objectivePaths(document);
  const used = paths.map(path => valueAt(document, [...path, "name"]));
  const name = ["val_loss", "val_accuracy", "val_mae"].find(each => !used.includes(each)) ?? "val_rmse";
  const next = isBuiltin(document) ? `{name: ${name}, goal: ${BUILTIN_METRICS[name]}}` : "{name: size, goal: minimize}";
  if (valueAt(document, ["metrics"]) !== undefined) {
    return [{ path: ["metrics", String(paths.length)], value: next }];
  }
  const all = [...paths.map(path => written({ document, numbers }, path)), next];
  return [
    { path: ["metric"], value: null },
    { path: ["metrics"], value: `[${all.join(", ")}]` },
  ];
}

function removeObjective({ document, numbers }: Parsed, place: number): Change[] {
  const paths = objectivePaths(document);
  const left = paths[1 - place];
  if (paths.length !== 2 || left === undefined) return [{ path: ["metrics", String(place)], value: null }];
  return [
    { path: ["metrics"], value: null },
    { path: ["metric"], value: written({ document, numbers }, left) },
  ];
}

function written({ document, numbers }: Parsed, path: Path): string {
  return flow(valueAt(document, path) ?? {}, numbers, path);
}

function isBuiltin(document: unknown): boolean {
  return kindOf(valueAt(document, ["program"])) === "builtin";
}

function Objective({ draft, path, first }: { draft: Draft; path: Path; first: boolean }) {
  const name = shownAt(draft.document, draft.numbers, [...path, "name"]);
  const choose = (next: string) =>
    void draft.change([{ path: [...path], value: `{name: ${quoted(next)}, goal: ${BUILTIN_METRICS[next]}}` }]);
  return (
    <>
      {isBuiltin(draft.document) ? (
        <Field label="Metric" problem={draft.problemAt(path, "target")}>
          <select value={name} onChange={event => choose(event.target.value)}>
            {!(name in BUILTIN_METRICS) && <option value={name}>{name || "choose"}</option>}
            {Object.entries(BUILTIN_METRICS).map(([each, goal]) => (
              <option key={each} value={each}>
                {each}, {goal === "maximize" ? "higher is better" : "lower is better"}
              </option>
            ))}
          </select>
        </Field>
      ) : (
        <>
          <KeyField draft={draft} path={[...path, "name"]} label="Metric" hint="Name that your code reports" />
          <KeyChoice draft={draft} path={[...path, "goal"]} label="Goal" choices={GOALS} />
          {first && (
            <KeyChoice
              draft={draft}
              path={["objective"]}
              label="Value of a trial"
              choices={RULES}
              standard="last"
              hint="If the program does not return one"
            />
          )}
        </>
      )}
      {(first || valueAt(draft.document, [...path, "target"]) !== undefined) && (
        <KeyField
          draft={draft}
          path={[...path, "target"]}
          kind="number"
          label="Target"
          placeholder="none"
          hint="The sweep ends when a trial reaches it"
        />
      )}
    </>
  );
}
