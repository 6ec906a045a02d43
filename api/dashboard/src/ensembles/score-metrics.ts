// Short names for the API's ensemble types, and labels and formats that several views share.
import type { Schemas } from "../api";

export type Ensemble = Schemas["EnsembleView"];
export type Member = Schemas["MemberView"];
export type Figures = Schemas["FiguresView"];
export type Evaluation = Schemas["EvaluationView"];
export type Preview = Schemas["PreviewView"];
export type Step = Schemas["StepView"];
export type Prediction = Schemas["PredictionView"];
export type Samples = Schemas["SamplesView"];
export type Scores = Figures["ensemble"];

/** The name of a score, whether higher is better, and how many decimals are significant. */
export type Metric = { key: string; name: string; better: "more" | "less"; unit?: string };

const METRICS: readonly Metric[] = [
  { key: "accuracy", name: "Accuracy", better: "more" },
  { key: "log_loss", name: "Log loss", better: "less", unit: "nats" },
  { key: "brier", name: "Brier score", better: "less" },
  { key: "ece_equal_width", name: "ECE, equal-width bins", better: "less" },
  { key: "ece_equal_mass", name: "ECE, equal-mass bins", better: "less" },
  { key: "ece_equal_width_after_temperature", name: "equal-width, calibrated", better: "less" },
  { key: "ece_equal_mass_after_temperature", name: "equal-mass, calibrated", better: "less" },
  { key: "rmse", name: "RMSE", better: "less" },
  { key: "mae", name: "MAE", better: "less" },
  { key: "nll", name: "NLL", better: "less", unit: "nats" },
  { key: "coverage95", name: "Coverage of 95 %", better: "more" },
  { key: "interval95_width", name: "Interval width", better: "less" },
];

/** The scores that are present, in a fixed order. */
export function metricsOf(all: readonly object[]): Metric[] {
  return METRICS.filter(metric => all.some(scores => figure(scores, metric.key) !== null));
}

export function metricOf(key: string): Metric {
  return METRICS.find(metric => metric.key === key) ?? { key, name: key, better: "less" };
}

export function figure(scores: object | null | undefined, key: string): number | null {
  const value = (scores as Record<string, unknown> | null | undefined)?.[key];
  return typeof value === "number" ? value : null;
}

/** A score with enough digits to tell two networks apart. */
export function formatScore(value: number | null | undefined): string {
  if (value === null || value === undefined) return "–";
  const size = Math.abs(value);
  const text = size < 10 && (size === 0 || size >= 0.0005) ? value.toFixed(4) : value.toPrecision(size < 10 ? 3 : 5);
  return text.replace(/^-/, "−");
}

/** The same with a sign, for differences. */
export function formatChange(value: number): string {
  return value > 0 ? `+${formatScore(value)}` : formatScore(value);
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
