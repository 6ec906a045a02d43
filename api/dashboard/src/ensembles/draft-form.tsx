// The form of a draft: how members are chosen, how they are combined, how they run.
import type { ReactNode } from "react";
import { Button } from "../widgets/button";
import { Field } from "../widgets/field";
import { type Draft, type Read, trialsOf } from "./draft";
import { MODES, RULES, SELECTIONS } from "./types";
import "./draft-form.css";

const CLASSES_ONLY = new Set(["logit_mean", "hard_vote"]);
const HINTS: Record<string, string> = {
  top_k: "Best first; of equals the earlier trial.",
  greedy: "Adds again and again the trial that lowers the loss on validation most; how often is its weight.",
  diverse: "The best first, then the best mix of a trial’s own score and its disagreement.",
  explicit: "Tick the trials below.",
};

type FormProps = {
  draft: Draft;
  change: (changes: Partial<Draft>) => void;
  problems: Read["problems"];
  selected: readonly number[];
  values: boolean; // the networks answer with values, not classes
};

export function DraftForm({ draft, change, problems, selected, values }: FormProps) {
  const byHand = draft.choose === "explicit";
  return (
    <div className="draft">
      <Field label="Members" hint={HINTS[draft.choose]} problem={problems.trials}>
        <Choice value={draft.choose} options={SELECTIONS} onChange={choose => change({ choose })} />
      </Field>
      {selected.length > 0 && String(selected) !== String(trialsOf(draft)) && (
        <Button small onClick={() => change({ choose: "explicit", trials: selected.join(",") })}>
          Take the {selected.length} selected in the table
        </Button>
      )}
      {!byHand && (
        <Field label="How many (k)" problem={problems.k}>
          <Count value={draft.k} onChange={k => change({ k })} />
        </Field>
      )}
      {draft.choose === "greedy" && (
        <Field
          label="Bags"
          hint="Repeat on so many random halves of the trials; 0: once on all."
          problem={problems.bags}
        >
          <Count value={draft.bags} least={0} onChange={bags => change({ bags })} />
        </Field>
      )}
      <Field label="Combined by">
        <Choice
          value={draft.combine}
          options={Object.fromEntries(Object.entries(RULES).filter(([rule]) => !values || !CLASSES_ONLY.has(rule)))}
          onChange={combine => change({ combine })}
        />
      </Field>
      {!values && (
        <label className="draft-check">
          <input
            type="checkbox"
            checked={draft.calibrate === "yes"}
            onChange={event => change({ calibrate: event.target.checked ? "yes" : "" })}
          />
          Calibrate: fit a temperature
        </label>
      )}
      <details className="draft-more" open={isOpen(draft)}>
        <summary>How it runs</summary>
        <div className="draft">
          <Field label="Runs as">
            <Choice value={draft.mode} options={MODES} onChange={mode => change({ mode })} />
          </Field>
          <Field label="Deadline, ms" hint="An answer leaves by then." problem={problems.deadline}>
            <Count value={draft.deadline} onChange={deadline => change({ deadline })} />
          </Field>
          <Field label="Quorum" hint="Fewer answers are an error; empty: the majority." problem={problems.quorum}>
            <Count value={draft.quorum} onChange={quorum => change({ quorum })} />
          </Field>
          <Field label="Replicas of each member" problem={problems.replicas}>
            <Count value={draft.replicas} onChange={replicas => change({ replicas })} />
          </Field>
          <Field label="Devices">
            <Choice
              value={draft.placement}
              options={{ shared: "Shared with trials", dedicated: "Run no trials meanwhile" }}
              onChange={placement => change({ placement })}
            />
          </Field>
          <Field label="Computes in">
            <Choice
              value={draft.precision}
              options={{ float32: "float32", bfloat16: "bfloat16" }}
              onChange={precision => change({ precision })}
            />
          </Field>
        </div>
      </details>
    </div>
  );
}

/** Open from the start where something in it is not as usual: a sent link shows what it says. */
function isOpen(draft: Draft): boolean | undefined {
  const usual =
    draft.mode === "between_graph" && draft.quorum === "" && draft.replicas === "1" && draft.precision === "float32";
  return usual ? undefined : true;
}

type ControlProps = { value: string; onChange: (value: string) => void; id?: string };

function Choice({ value, options, onChange, ...rest }: ControlProps & { options: Record<string, ReactNode> }) {
  return (
    <select {...rest} value={value} onChange={event => onChange(event.target.value)}>
      {Object.entries(options).map(([key, name]) => (
        <option key={key} value={key}>
          {name}
        </option>
      ))}
    </select>
  );
}

function Count({ value, onChange, least = 1, ...rest }: ControlProps & { least?: number }) {
  return (
    <input
      {...rest}
      type="number"
      min={least}
      inputMode="numeric"
      value={value}
      onChange={event => onChange(event.target.value)}
    />
  );
}
