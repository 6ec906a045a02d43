// Figures of metrics as columns: the last, lowest and highest value, `min(val/loss)`. The service has the same keys.
import type { Option } from "../widgets/select";

export const FIGURES = ["last", "min", "max", "last_step", "min_step", "max_step", "non_finite"] as const;
export type Figure = (typeof FIGURES)[number];
export type MetricFigure = { figure: Figure; metric: string };

const KEY = new RegExp(`^(${FIGURES.join("|")})\\((.+)\\)$`, "s");
const PLAIN = /^[^\s"<>=!:,()]+$/;
export const FIGURE_NAMES: Record<Figure, string> = {
  last: "last value",
  min: "lowest value",
  max: "highest value",
  last_step: "last step",
  min_step: "step of the lowest value",
  max_step: "step of the highest value",
  non_finite: "values that are NaN or infinite",
};

/** The figure that a key names; null for any other column. */
export function figureOf(key: string): MetricFigure | null {
  const [, figure, metric] = KEY.exec(key) ?? [];
  return figure && metric ? { figure: figure as Figure, metric } : null;
}

export function figureKey(figure: Figure, metric: string): string {
  return `${figure}(${metric})`;
}

/** The figure in the filter language: a name with spaces or operators is quoted. */
export function figureInFilter({ figure, metric }: MetricFigure): string {
  return figureKey(figure, PLAIN.test(metric) ? metric : `"${metric.replace(/(["\\])/g, "\\$1")}"`);
}

/** The last, lowest and highest value of each metric, to choose from. */
export function figureOptions(metrics: readonly string[]): Option[] {
  const figures = ["last", "min", "max"] as const;
  return metrics.flatMap(metric => figures.map(figure => asOption(figureKey(figure, metric))));
}

function asOption(key: string): Option {
  return { value: key, name: key };
}
