// The form of an ensemble draft: member selection, combination rule, and serving options.
import type { ReactNode } from "react";
import { Button } from "../widgets/button";
import { Field } from "../widgets/field";
import type { Draft, Read } from "./draft";
import { MODES, RULES, SELECTIONS } from "./ensemble-types-and-labels";
import "./draft-form.css";

const CLASSES_ONLY = new Set(["logit_mean", "hard_vote"]);
const HINTS: Record<string, string> = {
  top_k: "The best trials by the metric; ties go to the earlier trial.",
  greedy: "Repeatedly adds the trial that lowers the validation loss most; the number of times is its weight.",
  diverse: "Starts with the best trial, then adds trials by a mix of their own score and their disagreement.",
  explicit: "Check the trials below.",
};

type FormProps = {
  draft: Draft;
  change: (changes: Partial<Draft>) => void;
  problems: Read["problems"];
  selected: readonly number[];
  ids: readonly number[] | null; // of the trials that the draft names
  values: boolean; // the networks predict values, not classes
};

export function DraftForm({ draft, change, problems, selected, ids, values }: FormProps) {
  const isManual = draft.choose === "explicit";
  return (
    <div className="draft">
      <Field label="Members" hint={HINTS[draft.choose]} problem={problems.trials}>
        <Choice value={draft.choose} options={SELECTIONS} onChange={choose => change({ choose })} />
      </Field>
      {selected.length > 0 && String(selected) !== String(ids) && (
        <Button small onClick={() => change({ choose: "explicit", trials: selected.join(",") })}>
          Use the {selected.length} selected in the table
        </Button>
      )}
      {!isManual && (
        <Field label="How many (k)" problem={problems.k}>
          <Count value={draft.k} onChange={k => change({ k })} />
        </Field>
      )}
      {draft.choose === "greedy" && (
        <Field
          label="Bagging rounds"
          hint="Repeat the selection on random halves of the trials; 0 selects once from all."
          problem={problems.bags}
        >
          <Count value={draft.bags} least={0} onChange={bags => change({ bags })} />
        </Field>
      )}
      <Field label="Combination rule">
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
          Calibrate (temperature scaling)
        </label>
      )}
      <details className="draft-more" open={isOpen(draft)}>
        <summary>Serving options</summary>
        <div className="draft">
          <Field label="Execution mode">
            <Choice value={draft.mode} options={MODES} onChange={mode => change({ mode })} />
          </Field>
          <Field
            label="Deadline, ms"
            hint="The prediction is returned by then; if empty, the default of the service."
            problem={problems.deadline}
          >
            <Count value={draft.deadline} onChange={deadline => change({ deadline })} />
          </Field>
          <Field label="Quorum" hint="Fewer responses are an error; if empty, the majority." problem={problems.quorum}>
            <Count value={draft.quorum} onChange={quorum => change({ quorum })} />
          </Field>
          <Field label="Replicas per member" problem={problems.replicas}>
            <Count value={draft.replicas} onChange={replicas => change({ replicas })} />
          </Field>
          <Field label="Devices">
            <Choice
              value={draft.placement}
              options={{ shared: "Shared with trials", dedicated: "Reserved for the ensemble" }}
              onChange={placement => change({ placement })}
            />
          </Field>
          <Field
            label="Devices per member"
            hint="The layers of each network are split over them."
            problem={problems.devices}
          >
            <Count value={draft.devices} onChange={devices => change({ devices })} />
          </Field>
          <Field label="Precision">
            <Choice
              value={draft.precision}
              options={precisionsOf(draft)}
              onChange={precision => change({ precision })}
            />
          </Field>
          {draft.precision !== "float32" && (
            <Field
              label="Largest increase of the loss"
              hint="A share: 0.01 is 1 %. A member whose loss rises by more stays in float32."
              problem={problems.max_loss}
            >
              <Count value={draft.max_loss} least={0} onChange={max_loss => change({ max_loss })} decimal />
            </Field>
          )}
        </div>
      </details>
    </div>
  );
}

/** The precisions; also a list with one for each member, which an earlier version may have. */
function precisionsOf(draft: Draft): Record<string, string> {
  const known = { float32: "float32", bfloat16: "bfloat16", float16: "float16 (GPUs)", int8: "int8, linear layers" };
  return draft.precision in known ? known : { ...known, [draft.precision]: draft.precision };
}

/** Open from the start if an option differs from its default: a shared link shows what it sets. */
function isOpen(draft: Draft): boolean | undefined {
  const usual =
    draft.mode === "between_graph" &&
    draft.quorum === "" &&
    draft.replicas === "1" &&
    draft.devices === "1" &&
    draft.precision === "float32";
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

type CountProps = ControlProps & { least?: number; decimal?: boolean };

function Count({ value, onChange, least = 1, decimal = false, ...rest }: CountProps) {
  return (
    <input
      {...rest}
      type="number"
      min={least}
      step={decimal ? "any" : undefined}
      inputMode={decimal ? "decimal" : "numeric"}
      value={value}
      onChange={event => onChange(event.target.value)}
    />
  );
}
