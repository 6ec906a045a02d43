// Early stopping: the rule, and the keys that belong to it.
import { BlockForm, SpecFields } from "./block-form";
import { type BlockSpec, optionsOf } from "./schema";
import type { Draft } from "./sweep-file-draft";
import { KeyChoice } from "./sweep-file-key-fields";
import { shownAt } from "./yaml-values";

const BLOCK = "early_terminate";
const NONE = "none";
// The fields of each rule and its required keys; a rule that is not listed here has all fields.
const RULES: Record<string, { keys: string[]; initial?: string }> = {
  asha: { keys: ["min_iter", "eta"] },
  hyperband: { keys: ["min_iter", "max_iter", "s", "eta"], initial: ", min_iter: 1, max_iter: 27" },
  median: { keys: ["min_iter", "min_trials"] },
  percentile: { keys: ["percentile", "min_iter", "min_trials"], initial: ", percentile: 25" },
  threshold: { keys: ["lower", "upper", "min_iter"], initial: ", lower: 0.1" },
  patient: { keys: ["patience", "min_delta"], initial: ", patience: 3" },
  wilcoxon: { keys: ["p_threshold", "n_startup_steps"] },
  custom: { keys: ["pruner", "args"], initial: ", pruner: optuna.pruners:MedianPruner" },
};
const COMMON_KEYS = ["metric", "goal"];

export function EarlyStoppingForm({ draft, spec }: { draft: Draft; spec: BlockSpec }) {
  const rule = shownAt(draft.document, draft.numbers, [BLOCK, "type"]) || NONE;
  const choices = optionsOf(spec.keys.find(({ key }) => key === "type")?.choices ?? []);
  const wrap = [BLOCK, "wrap"];
  const wrapped = shownAt(draft.document, draft.numbers, [...wrap, "type"]);
  const after = rule === "patient" && (
    <>
      <KeyChoice
        draft={draft}
        path={[...wrap, "type"]}
        label="Wrapped rule"
        choices={[["", "none: patience only"], ...choices.filter(([value]) => value !== NONE && value !== "patient")]}
        changesFor={value => [{ path: wrap, value: value === "" ? null : initialOf(value) }]}
        problem={draft.problemAt(wrap)}
      />
      <SpecFields
        draft={draft}
        base={wrap}
        keys={spec.keys.filter(({ key }) => fieldsOf(wrapped, spec).includes(key))}
      />
    </>
  );
  const keys = rule === NONE ? [] : [...fieldsOf(rule, spec), ...COMMON_KEYS];
  return (
    <BlockForm draft={draft} block={BLOCK} title="Early stopping" spec={spec} only={keys} after={after}>
      <div className="new-fields">
        <KeyChoice
          draft={draft}
          path={[BLOCK, "type"]}
          label="Rule"
          choices={choices}
          standard={NONE}
          changesFor={value => [{ path: [BLOCK], value: value === NONE ? null : initialOf(value) }]}
        />
      </div>
    </BlockForm>
  );
}

function fieldsOf(rule: string, spec: BlockSpec): string[] {
  if (rule === "" || rule === NONE) return [];
  const own = spec.keys.map(({ key }) => key).filter(key => !["type", "wrap", ...COMMON_KEYS].includes(key));
  return RULES[rule]?.keys ?? own;
}

function initialOf(rule: string): string {
  return `{type: ${rule}${RULES[rule]?.initial ?? ""}}`;
}
