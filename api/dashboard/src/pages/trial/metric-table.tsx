// The metrics of a trial in a table of bounded height, found by name: last, lowest and highest value, with steps.
import { useState } from "react";
import { formatCount, formatNumber } from "../../format";
import { NonFinite } from "../../trials/metric-cell";
import { type MetricSummary, useMetricSummaries } from "../../trials/use-metric-summaries";
import { searchOptions } from "../../widgets/option-search";
import { Panel } from "../../widgets/panel";
import type { Trial } from "./queries";
import "./metric-table.css";

export function MetricTable({ trial }: { trial: Trial }) {
  const view = useMetricSummaries([trial]).get(trial.id);
  const [text, setText] = useState("");
  if (!view || view.metrics.length === 0) return null;
  const found = searchOptions(
    view.metrics.map(metric => ({ value: metric.name, name: metric.name, metric })),
    text,
  );
  const marked = view.metrics.filter(metric => metric.non_finite > 0).length;
  const search = view.metrics.length > 8 && (
    <input
      aria-label="Search metrics"
      placeholder="Search metrics"
      value={text}
      onChange={event => setText(event.target.value)}
    />
  );
  const hint = `${formatCount(view.metrics.length)} logged${marked > 0 ? `; ${formatCount(marked)} with values that are NaN or infinite` : ""}`;
  return (
    <Panel title="Metrics" hint={hint} actions={search}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: arrow keys scroll it */}
      <section className="metric-table" aria-label="Metrics" tabIndex={0}>
        <table>
          <thead>
            <tr>
              {["Metric", "Last", "Lowest", "Highest"].map(name => (
                <th key={name} scope="col">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {found.map(({ metric }) => (
              <Line key={metric.name} metric={metric} />
            ))}
          </tbody>
        </table>
        {found.length === 0 && <p>No metric matches {text}.</p>}
      </section>
    </Panel>
  );
}

function Line({ metric }: { metric: MetricSummary }) {
  return (
    <tr>
      <th scope="row" className="mono">
        {metric.name} <NonFinite count={metric.non_finite} step={metric.non_finite_step} />
      </th>
      <Cell value={metric.last} step={metric.last_step} counts={metric.counted === "last"} />
      <Cell value={metric.min} step={metric.min_step} counts={metric.counted === "min"} />
      <Cell value={metric.max} step={metric.max_step} counts={metric.counted === "max"} />
    </tr>
  );
}

function Cell({ value, step, counts }: { value: number | null; step: number | null; counts: boolean }) {
  return (
    <td className={counts ? "metric-best" : undefined} title={value === null ? undefined : String(value)}>
      {counts && <span className="hidden-text">counts: </span>}
      {formatNumber(value, 5)} {step !== null && <span className="metric-step">step {formatCount(step)}</span>}
    </td>
  );
}
