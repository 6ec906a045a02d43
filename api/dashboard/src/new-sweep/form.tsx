// The sweep file as a form: the most common keys first, then each optional block.

import type { ReactNode } from "react";
import { Panel } from "../widgets/panel";
import { QueryResult } from "../widgets/query-states";
import { BlockForm } from "./block-form";
import { DetailsFields } from "./details-fields";
import { EarlyStoppingForm } from "./early-stopping";
import { Objectives } from "./objectives";
import { ParametersForm } from "./parameters";
import { PredecessorsForm } from "./predecessors";
import { ProgramForm } from "./program";
import { blockSpec, useSweepSchema } from "./schema";
import { isPopulation, SearchMethod } from "./search-method";
import { SeedConfigurationsForm } from "./seed-configurations";
import type { Draft } from "./sweep-file-draft";
import { KeyField } from "./sweep-file-key-fields";
import { TrialStopConditions } from "./trial-stop-conditions";
import { WarmStartForm } from "./warm-start";
import { valueAt } from "./yaml-values";

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
            label="Plateau (trials without improvement)"
            placeholder="unlimited"
          />
          <KeyField
            draft={draft}
            path={["budget", "plateau", "min_delta"]}
            kind="number"
            label="Minimum improvement"
            placeholder="0"
            hint="Smaller improvements do not count"
          />
        </>
      ),
    },
    { block: "validation", title: "Data split" },
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
          hint="Share of device time relative to other sweeps: 2 gets twice as much as 1"
        />
      ),
    },
    { block: "limits", title: "Trial limits", also: "stop", after: draft => <TrialStopConditions draft={draft} /> },
    { block: "retries", title: "Retries" },
    { block: "keep", title: "Retention" },
  ];

export function SweepForm({ draft }: { draft: Draft }) {
  const unreadable = draft.read !== undefined && draft.read.document === null && draft.text.trim() !== "";
  // Disabled until the file is parsed: empty fields would overwrite the values of the file.
  const unread = draft.read === undefined;
  return (
    <fieldset className={unreadable ? "new-form new-form-stopped" : "new-form"} disabled={unreadable || unread}>
      <legend className="hidden-text">Sweep form</legend>
      {unreadable && (
        <p className="new-unreadable" role="status">
          The sweep file cannot be parsed. Fix the text to continue with the form.
        </p>
      )}
      <Panel title="Sweep">
        <div className="new-fields">
          <KeyField draft={draft} path={["name"]} label="Name" />
          <DetailsFields draft={draft} />
          <SearchMethod draft={draft} />
          {!isPopulation(draft.document) && (
            <KeyField
              draft={draft}
              path={["run_cap"]}
              kind="number"
              label="Trials"
              placeholder="60"
              hint="Counts finished and pruned trials"
            />
          )}
          <KeyField draft={draft} path={["seed"]} kind="number" label="Seed" placeholder="0" />
          <Objectives draft={draft} />
        </div>
      </Panel>
      <Panel title="Program">
        <div className="new-fields">
          <ProgramForm draft={draft} />
        </div>
      </Panel>
      <Panel
        title="Parameters"
        hint="The search space. A range with integer bounds is an integer range; 0.0 to 1.0 is a float range."
      >
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
    <Panel title="More" hint="All of these are optional.">
      <QueryResult query={schema} rows={4}>
        {root => (
          <>
            <BlockForm
              draft={draft}
              block="ensemble"
              title="Ensemble"
              spec={{ ...blockSpec(root, "ensemble"), keys: ensemble ? blockSpec(root, "ensemble").keys : [] }}
            >
              <label className="new-switch">
                <input type="checkbox" checked={ensemble} onChange={toggle} /> Build an ensemble of the best trials when
                the sweep ends
              </label>
            </BlockForm>
            <EarlyStoppingForm draft={draft} spec={blockSpec(root, "early_terminate")} />
            <SeedConfigurationsForm draft={draft} />
            <PredecessorsForm draft={draft} />
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
      </QueryResult>
    </Panel>
  );
}
