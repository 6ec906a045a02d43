// The metrics of the compared trials side by side, found by name.
import { useState } from "react";
import { Link } from "wouter";
import { formatCount, formatNumber } from "../format";
import { searchOptions } from "../widgets/option-search";
import { Panel } from "../widgets/panel";
import { Select } from "../widgets/select";
import type { Trial } from "./compare-table";
import { NonFinite } from "./metric-cell";
import { trialHref } from "./trial-references";
import { useMetricSummaries } from "./use-metric-summaries";
import "./compare-table.css";

const MOST_ROWS = 40;

const FIGURES = [
  { value: "last", name: "last value" },
  { value: "min", name: "lowest value" },
  { value: "max", name: "highest value" },
] as const;
type Figure = (typeof FIGURES)[number]["value"];

export function CompareMetrics({ trials }: { trials: readonly Trial[] }) {
  const summaries = useMetricSummaries(trials);
  const [figure, setFigure] = useState<Figure>("last");
  const [text, setText] = useState("");
  const names = [...new Set([...summaries.values()].flatMap(view => view.metrics.map(metric => metric.name)))];
  const found = searchOptions(
    names.map(name => ({ value: name, name })),
    text,
  );
  if (names.length === 0) return null;
  const actions = (
    <>
      <input
        aria-label="Search metrics"
        placeholder="Search metrics"
        value={text}
        onChange={event => setText(event.target.value)}
      />
      <Select label="Figure" value={figure} options={FIGURES} onChange={value => setFigure(value as Figure)} />
    </>
  );
  return (
    <Panel title="Metrics" hint={`${formatCount(names.length)} logged by these trials`} actions={actions}>
      <div className="compare-frame">
        <table className="compare">
          <caption className="hidden-text">Metrics side by side</caption>
          <thead>
            <tr>
              <td />
              {trials.map(trial => (
                <th key={trial.id} scope="col">
                  <Link href={trialHref(trial.sweep_id, trial.number)}>Trial {trial.number}</Link>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {found.slice(0, MOST_ROWS).map(({ name }) => (
              <tr key={name}>
                <th scope="row" className="mono">
                  {name}
                </th>
                {trials.map(trial => {
                  const metric = summaries.get(trial.id)?.metrics.find(each => each.name === name);
                  const step = metric?.[`${figure}_step`];
                  return (
                    <td key={trial.id} title={step == null ? undefined : `at step ${formatCount(step)}`}>
                      {metric && <NonFinite count={metric.non_finite} step={metric.non_finite_step} />}
                      {formatNumber(metric?.[figure], 5)}
                    </td>
                  );
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {found.length > MOST_ROWS && <p>{formatCount(found.length - MOST_ROWS)} more: type to search</p>}
    </Panel>
  );
}
