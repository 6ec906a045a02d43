// The search method: a name, an Optuna sampler class, or population-based training with its keys.
import { SpecField } from "./block-form";
import { blockSpec, detailOf, methodSpec, optionsOf, useSweepSchema } from "./schema";
import type { Change, Draft } from "./sweep-file-draft";
import { KeyChoice, KeyField } from "./sweep-file-key-fields";
import { keysAt, shownAt, valueAt } from "./yaml-values";

const CUSTOM = "custom";
const PBT = "pbt";
const METHOD = ["method"];
const TYPE = [...METHOD, "type"];
const NOT_WITH_PBT = ["run_cap", "early_terminate"];

/** Whether the method says how many trials there are. */
export function isPopulation(document: unknown): boolean {
  return valueAt(document, TYPE) === PBT;
}

export function SearchMethod({ draft }: { draft: Draft }) {
  const { data: schema } = useSweepSchema();
  const spec = schema && blockSpec(schema, "").keys.find(({ key }) => key === "method");
  const names = spec?.choices ?? [];
  const population = schema && methodSpec(schema, PBT);
  const block = keysAt(draft.document, METHOD).length > 0;
  const type = shownAt(draft.document, draft.numbers, TYPE);
  const stored = block ? type || CUSTOM : shownAt(draft.document, draft.numbers, METHOD) || spec?.defaultText;
  const offered: [value: string, name: string][] = [
    ...optionsOf(names),
    ...(population ? [[PBT, population.title] as [string, string]] : []),
    [CUSTOM, "custom: an Optuna sampler class"],
  ];
  return (
    <>
      <KeyChoice
        draft={draft}
        path={METHOD}
        label="Search"
        choices={offered}
        standard={spec?.defaultText}
        stored={stored}
        hint={stored === PBT ? population?.hint : detailOf(names, stored ?? "")}
        changesFor={value => changesFor(value, draft.document)}
      />
      {stored === CUSTOM && (
        <>
          <KeyField
            draft={draft}
            path={[...METHOD, "sampler"]}
            label="Sampler class"
            hint="MODULE:CLASS of a package installed in the service's environment"
          />
          <KeyField draft={draft} path={[...METHOD, "args"]} kind="yaml" label="Sampler arguments" placeholder="{}" />
        </>
      )}
      {stored === PBT &&
        population?.keys.map(({ path, ...each }) => (
          <SpecField key={each.key} draft={draft} path={[...METHOD, ...path]} spec={each} />
        ))}
    </>
  );
}

function changesFor(value: string, document: unknown): Change[] | undefined {
  if (value === CUSTOM) return [{ path: METHOD, value: "{sampler: optuna.samplers:TPESampler}" }];
  if (value !== PBT) return undefined;
  const change = { path: METHOD, value: "{type: pbt, population: 16, interval: {step: 5}}" };
  const left = NOT_WITH_PBT.filter(key => valueAt(document, [key]) !== undefined);
  return [change, ...left.map(key => ({ path: [key], value: null }))];
}
