// The analysis of a sweep: history, importance, parallel coordinates, slices, contour, Pareto front; all linked.
import { useMemo } from "react";
import { type Axis, titleOf } from "../../charts/axis";
import { useChartPoints, useImportance, usePoints } from "../../charts/queries";
import { useLogCheckbox } from "../../charts/result-axis-scale";
import { columnOf, type Points } from "../../charts/trial-columns";
import { onlyFinished, withReports } from "../../charts/unfinished";
import { type Brushing, useDebouncedBrushes } from "../../charts/use-debounced-brushes";
import { formatCount } from "../../format";
import { figureOf, figureOptions } from "../../trials/metric-summary-columns";
import { useMetricNames } from "../../trials/use-metric-names";
import { setQuery, useQueryState } from "../../url-query-state";
import { Button } from "../../widgets/button";
import { Checkbox } from "../../widgets/checkbox";
import { MetricPicker } from "../../widgets/combobox";
import { Empty, QueryResult } from "../../widgets/query-states";
import type { Option } from "../../widgets/select";
import {
  axisKeys,
  ContourPanel,
  HistoryPanel,
  ImportancePanel,
  LineagePanel,
  ParallelPanel,
  ParetoPanel,
  SlicePanels,
} from "./analysis-panels";
import { DistributionPanel, RankPanel } from "./distribution-panels";
import { useLinked } from "./linked-charts";
import { ScatterPanel, scatterKeys } from "./scatter-panel";
import "./analysis-tab.css";

export function AnalysisTab({ sweepId }: { sweepId: number }) {
  const [filter] = useQueryState("filter");
  const figures = useFiguresInUrl();
  const charts = useDebouncedBrushes(useChartPoints(sweepId, filter, figures), filter);
  return (
    <QueryResult query={charts.query} rows={8}>
      {points => <Analysis sweepId={sweepId} filter={filter} figures={figures} charts={charts} points={points} />}
    </QueryResult>
  );
}

type Props = { sweepId: number; filter: string; figures: readonly string[]; charts: Brushing; points: Points };

/** The figures of metrics that the charts show: the metric, and axes. */
function useFiguresInUrl(): readonly string[] {
  const [metric] = useQueryState("metric");
  const [axes] = useQueryState("axes");
  const [pair] = useQueryState("scatter");
  const found = [...new Set([metric, ...axisKeys(axes), ...scatterKeys(pair)])].filter(key => figureOf(key)).sort();
  const text = JSON.stringify(found);
  return useMemo(() => JSON.parse(text) as string[], [text]);
}

function Analysis({ sweepId, filter, figures, charts, points }: Props) {
  const [named, setMetric] = useQueryState("metric");
  const outcomes = charts.outcomes;
  const metric = outcomes.find(axis => axis.name === named) ?? outcomes[0];
  // Brushing a sample would select a sample of the sample, so the service is asked for the brushed trials too.
  const isSample = points.shown < points.matching && Object.keys(charts.brushes).length > 0;
  // Until it responds, and while brushes move, the sample is filtered here.
  const exact = usePoints(sweepId, filter, figures, isSample && !charts.moving);
  const drawn = isSample && !charts.moving && exact.data && !exact.isPlaceholderData ? exact.data : points;
  const linked = useLinked(sweepId, drawn, charts);
  const linkedAll = useLinked(sweepId, points, charts);
  const importance = useImportance(sweepId, metric?.name ?? "");
  const { parameters } = charts;
  const importances = importance.data?.importances;
  const ordered = useMemo(() => byImportance(parameters, importances ?? {}), [parameters, importances]);
  const objectives = useMemo(
    () => outcomes.filter(axis => axis.key === "value" || axis.key.startsWith("values.")),
    [outcomes],
  );
  const [unfinished, setUnfinished] = useQueryState("unfinished", "1");
  const marked = useMemo(() => (unfinished === "1" ? withReports(drawn) : onlyFinished(drawn)), [drawn, unfinished]);
  const [log, setLog] = useLogCheckbox(marked, metric);
  const { names: logged } = useMetricNames(sweepId);
  const choices = useMemo(() => metricChoices(outcomes, logged), [outcomes, logged]);
  if (points.matching === 0) return <Nothing filter={filter} />;
  if (!metric) return null;

  return (
    <div className="analysis">
      <div className="analysis-head">
        <p>{[sampleOf(drawn), withoutResult(marked, metric.key, linked.inside)].filter(Boolean).join(" ")}</p>
        <span className="analysis-controls">
          <MetricPicker
            label="Metric"
            value={metric.name}
            options={choices}
            onChange={value => setMetric(value === outcomes[0]?.name ? "" : value)}
          />
          <Checkbox
            label="Pruned and failed trials"
            on={unfinished === "1"}
            onChange={on => setUnfinished(on ? "1" : "0")}
          />
          <Checkbox label="Log scale of results" on={log} onChange={setLog} />
        </span>
      </div>
      <LineagePanel sweepId={sweepId} />
      <HistoryPanel {...linked} sweepId={sweepId} points={marked} metric={metric} />
      <ImportancePanel query={importance} filtered={filter !== ""} />
      <ParallelPanel sweepId={sweepId} {...linkedAll} points={points} metric={metric} charts={charts} />
      {objectives.length > 1 && <ParetoPanel {...linked} points={drawn} objectives={objectives} />}
      {ordered.length > 1 && <ContourPanel {...linked} points={marked} metric={metric} parameters={ordered} />}
      {ordered.length > 1 && <RankPanel {...linked} points={drawn} metric={metric} parameters={ordered} />}
      <DistributionPanel
        size={objectives.length > 1 ? "half" : "wide"} // half: next to the Pareto front or the ranks
        {...linked}
        points={drawn}
        metric={metric}
      />
      <SlicePanels
        {...linked}
        points={marked}
        metric={metric}
        parameters={ordered}
        ranked={importances !== undefined && importances !== null}
      />
      <ScatterPanel
        {...linked}
        sweepId={sweepId}
        points={marked}
        metric={metric}
        parameters={ordered}
        outcomes={outcomes}
      />
    </div>
  );
}

/** Tells the user if only a sample is drawn; the number of matches is shown next to the filter. */
function sampleOf({ shown, matching }: Points): string {
  if (shown >= matching) return "";
  return `Showing ${formatCount(shown)} of ${formatCount(matching)} trials: the best, and an even sample of the others.`;
}

/** Tells the user how many ended trials inside the brushes have no value to draw: pruned and failed ones. */
export function withoutResult(points: Points, key: string, inside: Uint8Array): string {
  const [values, states] = [columnOf(points, key), columnOf(points, "state")];
  const counts = ["pruned", "failed"].flatMap(state => {
    const isOne = (row: number) => inside[row] && states[row] === state && typeof values[row] !== "number";
    const count = states.filter((_, row) => isOne(row)).length;
    return count > 0 ? [`${formatCount(count)} ${state}`] : [];
  });
  return counts.length > 0 ? `Without a result, and not drawn: ${counts.join(" and ")} trials.` : "";
}

/** The objectives and what was measured, then the last, lowest and highest value of each metric. */
function metricChoices(outcomes: readonly Axis[], logged: readonly string[]): Option[] {
  const own = outcomes.filter(axis => !figureOf(axis.key)).map(axis => ({ value: axis.name, name: titleOf(axis) }));
  return [...own, ...figureOptions(logged)];
}

function byImportance(parameters: readonly Axis[], importances: Record<string, number>): Axis[] {
  return [...parameters].sort((a, b) => (importances[b.name] ?? 0) - (importances[a.name] ?? 0));
}

function Nothing({ filter }: { filter: string }) {
  if (filter === "") return <Empty title="No trials yet" hint="Charts appear with the first trial." />;
  return (
    <Empty title="No matching trials" hint={filter}>
      <Button onClick={() => setQuery({ filter: "" })}>Clear filter</Button>
    </Empty>
  );
}
