// Reliability diagram: are 80 % of the rows with confidence 0.8 predicted correctly?
import { useMemo } from "react";
import { formatCount } from "../format";
import type { Series } from "./draw-line-chart";
import type { Figures } from "./ensemble-types-and-labels";
import { Chart } from "./line-chart";
import { figure, formatScore } from "./score-metrics";

export function Reliability({ figures }: { figures: Figures }) {
  const series = useMemo<Series[]>(
    () => [
      { name: "Ensemble", tone: 1, dots: true, points: points(figures.reliability) },
      { name: "Best single network", tone: 2, dashed: true, points: points(figures.best_reliability) },
    ],
    [figures],
  );
  const least = Math.min(...series.flatMap(one => one.points.flat()), 0.9);
  const low = Math.max(0, Math.floor(least * 10) / 10);
  const width = formatScore(figure(figures.ensemble, "ece_equal_width"));
  const mass = formatScore(figure(figures.ensemble, "ece_equal_mass"));
  const rows = formatCount(figures.reliability.reduce((sum, bin) => sum + bin.count, 0));
  return (
    <Chart
      name="reliability"
      label={`Calibration curve: accuracy by confidence in ${figures.reliability.length} bins of equal mass, ${rows} rows; the ensemble’s expected calibration error before temperature scaling is ${width} (equal-width bins), ${mass} (equal-mass bins).`}
      series={series}
      xName="Confidence"
      yName="Accuracy"
      xRange={[low, 1]}
      yRange={[low, 1]}
      diagonal
    />
  );
}

function points(bins: Figures["reliability"]): [number, number][] {
  return bins.map(bin => [bin.confidence, bin.accuracy]);
}
