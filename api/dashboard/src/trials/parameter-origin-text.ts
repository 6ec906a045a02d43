// What chose the parameters of a trial, as text.
import type { Schemas } from "../api";

export type Choice = Pick<Schemas["TrialView"], "sampler" | "fallback_reason" | "fallback_error" | "proposed_for">;

const FALLBACKS: Record<Schemas["FallbackReason"], string> = {
  slow: "the method had proposed nothing by the deadline",
  failed: "the method failed",
  process_ended: "the process of the method ended too often",
  many_trials: "the sweep has more trials than its method supports",
};

/** Why another sampler than the sweep's method chose, or that a proposal came late; undefined otherwise. */
export function samplerNote({ fallback_reason, fallback_error, proposed_for }: Choice): string | undefined {
  if (fallback_reason !== null) {
    const reason = FALLBACKS[fallback_reason] ?? fallback_reason;
    return `because ${reason}${fallback_error ? `: ${fallback_error}` : ""}`;
  }
  return proposed_for === null ? undefined : `proposed for trial ${proposed_for}`;
}

/** The sampler with its note. */
export function samplerText(choice: Choice): string {
  const note = samplerNote(choice);
  return note === undefined ? choice.sampler : `${choice.sampler}, ${note}`;
}
