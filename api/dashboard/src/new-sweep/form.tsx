// The sweep file as a form: the keys that most sweeps have, then each block that can be left as it is.

import type { ReactNode } from "react";
import { Panel } from "../widgets/panel";
import { Answer } from "../widgets/states";
import { BlockForm } from "./block";
import type { Draft } from "./draft";
import { EarlyForm } from "./early";
import { EnqueueForm } from "./enqueue";
import { KeyChoice, KeyField } from "./key-field";
import { Objectives } from "./objectives";
import { ParametersForm } from "./parameters";
import { ProgramForm } from "./program";
import { blockSpec, useSweepSchema } from "./schema";
import { valueAt } from "./values";
import { WarmStartForm } from "./warm-start";

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
const BLOCKS: { block: string; title: string; only?: string[]; also?: string; after?: (draft: Draft) => ReactNode }[] =
  [
    {
      block: "budget",
      title: "Budget",
      only: ["wall_s", "device_s"],
      after: draft => (
        <>
          <KeyField
            draft={draft}
            path={["budget", "plateau", "trials"]}
            kind="number"
            label="Trials in a row without a better value"
            placeholder="no bound"
          />
          <KeyField
            draft={draft}
            path={["budget", "plateau", "min_delta"]}
            kind="number"
            label="Better by more than"
            placeholder="0"
            hint="Less does not count as a better value"
          />
        </>
      ),
    },
    { block: "validation", title: "Split of the data" },
    {
      block: "resources",
      title: "Devices and threads",
      also: "priority",
      after: draft => (
        <KeyField
          draft={draft}
          path={["priority"]}
          kind="number"
          label="Priority"
          placeholder="1"
          hint="Its share of the devices’ time beside other sweeps: 2 gets twice as much as 1"
        />
      ),
    },
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
          <Objectives draft={draft} />
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
            <EnqueueForm draft={draft} />
            <WarmStartForm draft={draft} />
            {BLOCKS.map(({ block, title, only, also, after }) => (
              <BlockForm
                key={block}
                draft={draft}
                block={block}
                title={title}
                spec={blockSpec(root, block)}
                only={only}
                also={also}
                after={after?.(draft)}
              />
            ))}
          </>
        )}
      </Answer>
    </Panel>
  );
}
