// Which running trials are given up early: the rule, and the keys that go with it alone.
import { BlockForm, SpecFields } from "./block";
import type { Draft } from "./draft";
import { KeyChoice } from "./key-field";
import type { BlockSpec } from "./schema";
import { shownAt } from "./values";

const BLOCK = "early_terminate";
const RULES: Record<string, { name: string; keys: string[]; begin: string }> = {
  none: { name: "none: every trial runs to its end", keys: [], begin: "" },
  asha: { name: "asha: at each rung the best go on", keys: ["min_iter", "eta"], begin: "" },
  hyperband: {
    name: "hyperband: asha, from ever later rungs",
    keys: ["min_iter", "max_iter", "s", "eta"],
    begin: ", min_iter: 1, max_iter: 27",
  },
  median: { name: "median: what is worse than half", keys: ["min_iter", "min_trials"], begin: "" },
  percentile: {
    name: "percentile: what is not among the best",
    keys: ["percentile", "min_iter", "min_trials"],
    begin: ", percentile: 25",
  },
  threshold: { name: "threshold: what leaves a range", keys: ["lower", "upper", "min_iter"], begin: ", lower: 0.1" },
  patient: {
    name: "patient: what no longer improves",
    keys: ["patience", "min_delta"],
    begin: ", patience: 3",
  },
  wilcoxon: { name: "wilcoxon: what is worse at the same steps", keys: ["p_threshold", "n_startup_steps"], begin: "" },
  custom: {
    name: "custom: a pruner class of Optuna's kind",
    keys: ["pruner", "args"],
    begin: ", pruner: optuna.pruners:MedianPruner",
  },
};
const OF_ALL = ["metric", "goal"];

export function EarlyForm({ draft, spec }: { draft: Draft; spec: BlockSpec }) {
  const rule = shownAt(draft.document, draft.numbers, [BLOCK, "type"]) || "none";
  const keys = rule === "none" ? [] : [...(RULES[rule]?.keys ?? []), ...OF_ALL];
  const choices = Object.entries(RULES).map(([value, { name }]) => [value, name] as const);
  const wrap = [BLOCK, "wrap"];
  const wrapped = shownAt(draft.document, draft.numbers, [...wrap, "type"]);
  const ofWrapped = spec.keys.filter(({ key }) => RULES[wrapped]?.keys.includes(key));
  const after = rule === "patient" && (
    <>
      <KeyChoice
        draft={draft}
        path={[...wrap, "type"]}
        label="Only if this rule agrees"
        choices={[
          ["", "none: patience alone"],
          ...choices.filter(([value]) => value !== "none" && value !== "patient"),
        ]}
        changesFor={value => [
          { path: wrap, value: value === "" ? null : `{type: ${value}${RULES[value]?.begin ?? ""}}` },
        ]}
        problem={draft.problemAt(wrap)}
      />
      <SpecFields draft={draft} base={wrap} keys={ofWrapped} />
    </>
  );
  return (
    <BlockForm draft={draft} block={BLOCK} title="Giving up early" spec={spec} only={keys} after={after}>
      <div className="new-fields">
        <KeyChoice
          draft={draft}
          path={[BLOCK, "type"]}
          label="Rule"
          choices={choices}
          standard="none"
          changesFor={value => [
            { path: [BLOCK], value: value === "none" ? null : `{type: ${value}${RULES[value]?.begin ?? ""}}` },
          ]}
        />
      </div>
    </BlockForm>
  );
}
