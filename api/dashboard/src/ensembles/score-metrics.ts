// The scores of an ensemble: their names, order and direction, and how they are written.

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
