// Short names for the API's ensemble types, and labels of rules, selections and modes.
import type { Schemas } from "../api";
import { trialHref } from "../trials/trial-references";

export type Ensemble = Schemas["EnsembleView"];
export type Member = Schemas["MemberView"];
export type Figures = Schemas["FiguresView"];
export type EvaluationResult = Schemas["ResultView"];
export type PrecisionScores = Schemas["PrecisionScores"];
export type Evaluation = Schemas["EvaluationView"];
export type Preview = Schemas["PreviewView"];
export type Step = Schemas["StepView"];
export type Prediction = Schemas["PredictionView"];
export type Samples = Schemas["SamplesView"];
export type Scores = Figures["ensemble"];

/** What people read of a member: its trial, with a link. */
export function memberName(member: Pick<Member, "sweep_id" | "trial_number">): { name: string; href: string } {
  return { name: `Trial ${member.trial_number}`, href: trialHref(member.sweep_id, member.trial_number) };
}

export const RULES: Record<string, string> = {
  mean: "Mean",
  logit_mean: "Mean of logits",
  weighted: "Weighted mean, fitted",
  median: "Median",
  trimmed_mean: "Trimmed mean",
  hard_vote: "Hard vote",
  stacking: "Stacking",
};

export const SELECTIONS: Record<string, string> = {
  top_k: "Top k",
  greedy: "Greedy",
  diverse: "Diverse",
  explicit: "Manual",
};

export const MODES: Record<string, string> = {
  between_graph: "One process per member",
  in_graph: "One program for all members",
};
