// Early stopping: the rule, and the keys that belong to it.
import { BlockForm, SpecFields } from "./block-form";
import type { Draft } from "./draft";
import { KeyChoice } from "./key-field";
import type { BlockSpec } from "./schema";
import { shownAt } from "./yaml-values";

const BLOCK = "early_terminate";
const RULES: Record<string, { name: string; keys: string[]; initial: string }> = {
  none: { name: "none: every trial runs to completion", keys: [], initial: "" },
  asha: { name: "asha: the best continue at each rung", keys: ["min_iter", "eta"], initial: "" },
  hyperband: {
    name: "hyperband: several ASHA brackets",
    keys: ["min_iter", "max_iter", "s", "eta"],
    initial: ", min_iter: 1, max_iter: 27",
  },
  median: { name: "median: stop trials below the median", keys: ["min_iter", "min_trials"], initial: "" },
  percentile: {
    name: "percentile: stop trials outside the top percentile",
    keys: ["percentile", "min_iter", "min_trials"],
    initial: ", percentile: 25",
  },
  threshold: {
    name: "threshold: stop trials outside a range",
    keys: ["lower", "upper", "min_iter"],
    initial: ", lower: 0.1",
  },
  patient: {
    name: "patient: stop trials that no longer improve",
    keys: ["patience", "min_delta"],
    initial: ", patience: 3",
  },
  wilcoxon: {
    name: "wilcoxon: stop trials that are significantly worse at the same steps",
    keys: ["p_threshold", "n_startup_steps"],
    initial: "",
  },
  custom: {
    name: "custom: an Optuna pruner class",
    keys: ["pruner", "args"],
    initial: ", pruner: optuna.pruners:MedianPruner",
  },
};
const COMMON_KEYS = ["metric", "goal"];

export function EarlyStoppingForm({ draft, spec }: { draft: Draft; spec: BlockSpec }) {
  const rule = shownAt(draft.document, draft.numbers, [BLOCK, "type"]) || "none";
  const keys = rule === "none" ? [] : [...(RULES[rule]?.keys ?? []), ...COMMON_KEYS];
  const choices = Object.entries(RULES).map(([value, { name }]) => [value, name] as const);
  const wrap = [BLOCK, "wrap"];
  const wrapped = shownAt(draft.document, draft.numbers, [...wrap, "type"]);
  const ofWrapped = spec.keys.filter(({ key }) => RULES[wrapped]?.keys.includes(key));
  const after = rule === "patient" && (
    <>
      <KeyChoice
        draft={draft}
        path={[...wrap, "type"]}
        label="Wrapped rule"
        choices={[["", "none: patience only"], ...choices.filter(([value]) => value !== "none" && value !== "patient")]}
        changesFor={value => [
          { path: wrap, value: value === "" ? null : `{type: ${value}${RULES[value]?.initial ?? ""}}` },
        ]}
        problem={draft.problemAt(wrap)}
      />
      <SpecFields draft={draft} base={wrap} keys={ofWrapped} />
    </>
  );
  return (
    <BlockForm draft={draft} block={BLOCK} title="Early stopping" spec={spec} only={keys} after={after}>
      <div className="new-fields">
        <KeyChoice
          draft={draft}
          path={[BLOCK, "type"]}
          label="Rule"
          choices={choices}
          standard="none"
          changesFor={value => [
            { path: [BLOCK], value: value === "none" ? null : `{type: ${value}${RULES[value]?.initial ?? ""}}` },
          ]}
        />
      </div>
    </BlockForm>
  );
}
