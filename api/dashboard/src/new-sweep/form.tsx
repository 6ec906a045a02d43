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
import { StopFields } from "./stop";
import { keysAt, valueAt } from "./values";
import { WarmStartForm } from "./warm-start";

const CUSTOM = "custom";
const METHODS: [string, string][] = [
  ["tpe", "tpe: learns from what it tried (Bayesian)"],
  ["random", "random: each value as likely as the next"],
  ["grid", "grid: every combination once"],
  ["qmc", "qmc: evenly spread over the space"],
  ["cmaes", "cmaes: evolution, for numbers alone"],
  ["gp", "gp: Gaussian process, for few costly trials"],
  ["nsga2", "nsga2: for several objectives"],
  ["nsga3", "nsga3: for three objectives or more"],
  ["brute_force", "brute_force: each configuration that the code suggests"],
  ["auto", "auto: chosen by the space"],
  [CUSTOM, "custom: a sampler class of Optuna's kind"],
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
    { block: "limits", title: "Limits of a trial", also: "stop", after: draft => <StopFields draft={draft} /> },
    { block: "retries", title: "Trying again" },
    { block: "keep", title: "What is kept" },
  ];

export function SweepForm({ draft }: { draft: Draft }) {
  const unreadable = draft.read !== undefined && draft.read.document === null && draft.text.trim() !== "";
  // Until the file is read, its fields would be empty, and what is typed there would be joined with what the file says.
  const unread = draft.read === undefined;
  return (
    <fieldset className={unreadable ? "new-form new-form-stopped" : "new-form"} disabled={unreadable || unread}>
      <legend className="hidden-text">The sweep as a form</legend>
      {unreadable && (
        <p className="new-unreadable" role="status">
          The text cannot be read; mend it first, then the form goes on.
        </p>
      )}
      <Panel title="Sweep">
        <div className="new-fields">
          <KeyField draft={draft} path={["name"]} label="Name" />
          <Method draft={draft} />
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

function Method({ draft }: { draft: Draft }) {
  const path = ["method"];
  const custom = keysAt(draft.document, path).length > 0;
  return (
    <>
      <KeyChoice
        draft={draft}
        path={path}
        label="Search"
        choices={METHODS}
        standard="tpe"
        there={custom ? CUSTOM : undefined}
        changesFor={value => [
          { path, value: value === CUSTOM ? "{sampler: optuna.samplers:TPESampler}" : value === "tpe" ? null : value },
        ]}
      />
      {custom && (
        <>
          <KeyField
            draft={draft}
            path={[...path, "sampler"]}
            label="Sampler class"
            hint="MODULE:CLASS, of a package installed beside the service"
          />
          <KeyField draft={draft} path={[...path, "args"]} kind="yaml" label="Its arguments" placeholder="{}" />
        </>
      )}
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
