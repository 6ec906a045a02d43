// The quality of the prediction when members are missing, and the safe quorum.

import { formatCount } from "../format";
import { ScrollX } from "../widgets/scroll-x";
import type { Series } from "./draw-line-chart";
import type { Figures } from "./ensemble-types-and-labels";
import { Chart } from "./line-chart";
import { figure, formatScore, metricOf } from "./score-metrics";

export function DegradationView({ figures }: { figures: Figures }) {
  const { sizes, safe_quorum: safe } = figures.degradation;
  const keys = Object.keys(sizes[0]?.worst ?? {});
  const main = keys[0] ?? figures.metric;
  const best = figure(figures.members[figures.best_member], main);
  const series: Series[] = [
    { name: "Mean", tone: 1, dots: true, points: sizes.map(size => [size.answered, size.mean[main] ?? 0]) },
    {
      name: "Worst",
      tone: 2,
      dots: true,
      dashed: true,
      points: sizes.map(size => [size.answered, size.worst[main] ?? 0]),
    },
  ];
  if (best !== null && sizes.length > 1) {
    series.push({
      name: "Best single network",
      tone: 3,
      points: [
        [1, best],
        [sizes.length, best],
      ],
    });
  }
  return (
    <div className="degradation">
      {sizes.length > 1 && (
        <Chart
          name="degradation"
          label={`${metricOf(main).name} by number of responding members, from 1 to ${sizes.length}.`}
          series={series}
          xName="Responding members"
          yName={metricOf(main).name}
          integer
          height={200}
          until={safe === null || safe === 1 ? undefined : { x: safe, name: "safe" }}
        />
      )}
      <ScrollX label="Scores by responding members">
        <table className="figures">
          <thead>
            <tr>
              <th scope="col" rowSpan={2}>
                Members
              </th>
              <th scope="col" rowSpan={2} className="figures-number">
                Subsets
              </th>
              {keys.map(key => (
                <th key={key} scope="colgroup" colSpan={2} className="degradation-group">
                  {metricOf(key).name}
                </th>
              ))}
            </tr>
            <tr>
              {keys.flatMap(key =>
                ["worst", "mean"].map(column => (
                  <th key={`${column} ${key}`} scope="col" className="figures-number">
                    {column}
                  </th>
                )),
              )}
            </tr>
          </thead>
          <tbody>
            {sizes.map(size => (
              <tr key={size.answered} className={size.answered === safe ? "figures-own" : undefined}>
                <th scope="row">
                  {size.answered} of {sizes.length}
                </th>
                <td className="figures-number">
                  {formatCount(size.subsets)}
                  {!size.every_subset && " (sampled)"}
                </td>
                {keys.flatMap(key =>
                  [size.worst[key], size.mean[key]].map((value, column) => (
                    <td key={`${column ? "mean" : "worst"} ${key}`} className="figures-number">
                      {formatScore(value)}
                    </td>
                  )),
                )}
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollX>
    </div>
  );
}

/** One sentence on which quorum is safe. */
export function quorumText(figures: Figures): string {
  const { safe_quorum: safe, sizes } = figures.degradation;
  if (safe === null)
    return "No quorum is safe: on these rows, the full ensemble does not match the best single network.";
  const sentence = `With at least ${safe} of ${sizes.length} members, the prediction is never worse than the best single network, whichever members are missing.`;
  if (figures.quorum >= safe) return `${sentence} The quorum is ${figures.quorum}.`;
  return `${sentence} The quorum is only ${figures.quorum}: a degraded prediction may be worse.`;
}
