// The sweep file as a form: the keys that most sweeps have, then each block that can be left as it is.

import { Field } from "../widgets/field";
import { Panel } from "../widgets/panel";
import { Answer } from "../widgets/states";
import { BlockForm } from "./block";
import type { Draft } from "./draft";
import { EarlyForm } from "./early";
import { KeyChoice, KeyField } from "./key-field";
import { ParametersForm } from "./parameters";
import { kindOf, ProgramForm } from "./program";
import { blockSpec, useSweepSchema } from "./schema";
import { quoted, shownAt, valueAt } from "./values";

const METHODS: [string, string][] = [
  ["tpe", "tpe: learns from what it tried (Bayesian)"],
  ["random", "random: each value as likely as the next"],
  ["grid", "grid: every combination once"],
  ["qmc", "qmc: evenly spread over the space"],
  ["cmaes", "cmaes: evolution, for numbers alone"],
  ["gp", "gp: Gaussian process, for few costly trials"],
  ["nsga2", "nsga2: for several objectives"],
  ["auto", "auto: chosen by the space"],
];
const GOALS = [
  ["maximize", "higher is better"],
  ["minimize", "lower is better"],
] as const;
const REPORTED: Record<string, string> = {
  val_accuracy: "maximize",
  val_loss: "minimize",
  val_rmse: "minimize",
  val_mae: "minimize",
};
const BLOCKS: { block: string; title: string; only?: string[] }[] = [
  { block: "budget", title: "Budget", only: ["wall_s", "device_s"] },
  { block: "validation", title: "Split of the data" },
  { block: "resources", title: "Devices and threads" },
  { block: "limits", title: "Limits of a trial" },
  { block: "retries", title: "Trying again" },
  { block: "keep", title: "What is kept" },
];

export function SweepForm({ draft }: { draft: Draft }) {
  const unreadable = draft.read !== undefined && draft.read.document === null && draft.text.trim() !== "";
  return (
    <fieldset className="new-form" disabled={unreadable}>
      <legend className="hidden-text">The sweep as a form</legend>
      {unreadable && (
        <p className="new-unreadable" role="status">
          The text cannot be read; mend it first, then the form goes on.
        </p>
      )}
      <Panel title="Sweep">
        <div className="new-fields">
          <KeyField draft={draft} path={["name"]} label="Name" />
          <KeyChoice draft={draft} path={["method"]} label="Search" choices={METHODS} standard="tpe" />
          <KeyField
            draft={draft}
            path={["run_cap"]}
            kind="number"
            label="Trials"
            placeholder="60"
            hint="Those that finish or are given up early count"
          />
          <KeyField draft={draft} path={["seed"]} kind="number" label="Seed" placeholder="0" />
          <Metric draft={draft} />
        </div>
      </Panel>
      <Panel title="Program">
        <div className="new-fields">
          <ProgramForm draft={draft} />
        </div>
      </Panel>
      <Panel title="Parameters" hint="What is searched. A range of whole numbers has whole ends; 0.0 to 1.0 has not.">
        <ParametersForm draft={draft} />
      </Panel>
      <Blocks draft={draft} />
    </fieldset>
  );
}

function Metric({ draft }: { draft: Draft }) {
  if (valueAt(draft.document, ["metrics"]) !== undefined) {
    return <p className="field-hint">Several objectives: change them under `metrics` in the text.</p>;
  }
  const builtin = kindOf(valueAt(draft.document, ["program"])) === "builtin";
  const name = shownAt(draft.document, draft.numbers, ["metric", "name"]);
  const target = (
    <KeyField
      draft={draft}
      path={["metric", "target"]}
      kind="number"
      label="Target"
      placeholder="none"
      hint="The sweep ends when a trial reaches it"
    />
  );
  if (!builtin) {
    return (
      <>
        <KeyField draft={draft} path={["metric", "name"]} label="Metric" hint="As your code reports it" />
        <KeyChoice draft={draft} path={["metric", "goal"]} label="Better is" choices={GOALS} />
        {target}
      </>
    );
  }
  const choose = (next: string) =>
    void draft.change([{ path: ["metric"], value: `{name: ${quoted(next)}, goal: ${REPORTED[next]}}` }]);
  return (
    <>
      <Field label="Metric" problem={draft.problemAt(["metric", "name"]) ?? draft.problemAt(["metric"])}>
        <select value={name} onChange={event => choose(event.target.value)}>
          {!(name in REPORTED) && <option value={name}>{name || "choose"}</option>}
          {Object.entries(REPORTED).map(([each, goal]) => (
            <option key={each} value={each}>
              {each}, {goal === "maximize" ? "higher is better" : "lower is better"}
            </option>
          ))}
        </select>
      </Field>
      {target}
    </>
  );
}

function Blocks({ draft }: { draft: Draft }) {
  const schema = useSweepSchema();
  const ensemble = valueAt(draft.document, ["ensemble"]) !== undefined;
  const toggle = () => void draft.change([{ path: ["ensemble"], value: ensemble ? null : "{k: 3, select: greedy}" }]);
  return (
    <Panel title="More" hint="Each of these can stay as it is.">
      <Answer query={schema} rows={4}>
        {root => (
          <>
            <BlockForm
              draft={draft}
              block="ensemble"
              title="Ensemble when it ends"
              spec={{ ...blockSpec(root, "ensemble"), keys: ensemble ? blockSpec(root, "ensemble").keys : [] }}
            >
              <label className="new-switch">
                <input type="checkbox" checked={ensemble} onChange={toggle} /> Build an ensemble of the best trials
              </label>
            </BlockForm>
            <EarlyForm draft={draft} spec={blockSpec(root, "early_terminate")} />
            {BLOCKS.map(({ block, title, only }) => (
              <BlockForm
                key={block}
                draft={draft}
                block={block}
                title={title}
                spec={blockSpec(root, block)}
                only={only}
              >
                {block === "budget" && (
                  <div className="new-fields">
                    <KeyField
                      draft={draft}
                      path={["budget", "plateau", "trials"]}
                      kind="number"
                      label="Trials in a row without a better value"
                      placeholder="no bound"
                    />
                  </div>
                )}
              </BlockForm>
            ))}
          </>
        )}
      </Answer>
    </Panel>
  );
}
