// The charts of the analysis, each in a panel with its own controls; their settings are in the URL.
import type { UseQueryResult } from "@tanstack/react-query";
import { type ReactNode, useMemo } from "react";
import { type Axis, MEASURED, titleOf } from "../../charts/axis";
import { rankingOf } from "../../charts/best-parallel-lines";
import { Contour } from "../../charts/contour";
import { History } from "../../charts/history";
import { Importance, type ImportanceView } from "../../charts/importance";
import { LazyChart } from "../../charts/lazy-chart";
import type { LegendItem } from "../../charts/legend";
import { Lineage } from "../../charts/lineage";
import { Parallel } from "../../charts/parallel-coordinates";
import { Pareto } from "../../charts/pareto";
import { useIntervals } from "../../charts/queries";
import { rampText } from "../../charts/ramp-meaning";
import { scaledAxis, useLogChoice } from "../../charts/result-axis-scale";
import { Slice } from "../../charts/slice";
import { bestRow, columnOf, goodness, type Points } from "../../charts/trial-columns";
import { countUnfinished, finishedOf, unfinishedItems } from "../../charts/unfinished";
import type { Brushing } from "../../charts/use-debounced-brushes";
import { useValueAxis } from "../../charts/use-result-axis";
import { objectivesOf, ruleOf, type Sweep } from "../../sweep/sweep";
import { useSweep } from "../../sweep/use-sweep";
import { figureOf, figureOptions } from "../../trials/metric-summary-columns";
import { useMetricNames } from "../../trials/use-metric-names";
import { useQueryState } from "../../url-query-state";
import { Button } from "../../widgets/button";
import { Checkbox } from "../../widgets/checkbox";
import { MetricPicker } from "../../widgets/combobox";
import { Menu } from "../../widgets/menu";
import { Panel } from "../../widgets/panel";
import { Empty, QueryResult } from "../../widgets/query-states";
import { Select } from "../../widgets/select";
import type { Linked } from "./linked-charts";

type Charted = Linked & { points: Points; metric: Axis };

const MOST_AXES = 12; // initially; more can be selected
const MOST_SLICES = 24; // initially; the others on request

/** The ranks of results; of a metric also those of unfinished trials, unless `finished`. */
export function useShares(points: Points, metric: Axis, finished = true): Float64Array {
  return useMemo(
    () => goodness(finished ? finishedOf(points, metric.key) : columnOf(points, metric.key), metric.goal),
    [points, metric, finished],
  );
}

/** The legend of trials that are drawn at their last report of a metric. */
export function useUnfinishedItems(points: Points, { key }: Axis, inside: Uint8Array): LegendItem[] {
  return useMemo(() => unfinishedItems(countUnfinished(points, key, inside)), [points, key, inside]);
}

/** The keys of axes in the URL. */
export function axisKeys(named: string): string[] {
  return named === "" ? [] : named.split(",").map(decodeURIComponent);
}

type HistoryPanelProps = Charted & { sweepId: number };

export function HistoryPanel({ metric, sweepId, count: _, ...linked }: HistoryPanelProps) {
  const sweep = useSweep(sweepId).data;
  const [by, setBy] = useQueryState("by", "number");
  const log = useLogChoice();
  const actions = (
    <Select
      label="X axis"
      value={by === "time" ? "time" : "number"}
      options={[
        { value: "number", name: "trial" },
        { value: "time", name: "time" },
      ]}
      onChange={setBy}
    />
  );
  return (
    <Framed
      size="two-thirds"
      title="History"
      hint={`${titleOf(metric)} of each trial${ruleNote(metric, sweep)}${metric.goal ? ", and the best so far" : ""}`}
      actions={actions}
    >
      <LazyChart height={280} eager>
        <History {...linked} metric={metric} by={by === "time" ? "time" : "number"} log={log} />
      </LazyChart>
    </Framed>
  );
}

/** Which of the values that a trial has reported is its result. */
function ruleNote({ key }: Axis, sweep: Sweep | undefined): string {
  const isResult = key === "value" || key.startsWith("values.");
  return isResult && sweep && ruleOf(sweep) ? `, ${ruleOf(sweep)}` : "";
}

export function ImportancePanel({ query, filtered }: { query: UseQueryResult<ImportanceView>; filtered: boolean }) {
  return (
    <Framed size="third" title="Importance" hint="How much of the variance in rank each parameter explains (fANOVA)">
      <QueryResult query={query} rows={5}>
        {importance => {
          if (importance.importances) return <Importance importance={importance} filtered={filtered} />;
          const { state, reason } = importance;
          if (state === "computing") return <Empty title="Computing…" hint="This takes a few seconds." />;
          if (state === "failed") return <Empty title="Not available" hint={`${reason}.`} />;
          return <Empty title="Too few trials" hint={`${reason}.`} />;
        }}
      </QueryResult>
    </Framed>
  );
}

/** Of a population; nothing for other sweeps. */
export function LineagePanel({ sweepId }: { sweepId: number }) {
  const sweep = useSweep(sweepId).data;
  const isTrained = sweep?.population != null;
  const intervals = useIntervals(sweepId, isTrained);
  const objective = sweep && objectivesOf(sweep)[0];
  if (!isTrained || !objective) return null;
  return (
    <Framed size="wide" title="Lineage" hint="Each row is a trial, each cell an interval of its training">
      <QueryResult query={intervals} rows={6}>
        {found => <Lineage sweepId={sweepId} intervals={found} goal={objective.goal} metric={objective.name} />}
      </QueryResult>
    </Framed>
  );
}

export function ParallelPanel({
  sweepId,
  points,
  metric,
  charts,
  active,
  selected,
  onActive,
  onOpen,
}: Charted & { sweepId: number; charts: Brushing }) {
  const [named, setNamed] = useQueryState("axes");
  const all = useMemo(() => [...charts.parameters, ...charts.outcomes], [charts.parameters, charts.outcomes]);
  const log = useLogChoice();
  const axes = useMemo(
    () => chosenAxes(all, named, metric).map(axis => scaledAxis(axis, points, log)),
    [all, named, metric, points, log],
  );
  const shares = useShares(points, metric, false);
  const ranking = useMemo(() => rankingOf(points, metric), [points, metric]);
  const chosen = useMemo(
    () => columnOf(points, "id").flatMap((id, row) => (selected.has(id as number) ? [row] : [])),
    [points, selected],
  );
  const show = (keys: readonly string[]) => setNamed(keys.map(encodeURIComponent).join(","));
  const { names: metrics } = useMetricNames(sweepId);
  const addable = useMemo(() => figureOptions(metrics), [metrics]);
  const keys = axes.map(axis => axis.key);
  const legend = parallelLegend(metric, axes, charts.parameters.length);
  const isBrushed = Object.keys(charts.brushes).length > 0;
  const actions = (
    <>
      {isBrushed && <Button onClick={() => charts.onBrushes({}, true)}>Clear brushes</Button>}
      {addable.length > 0 && (
        <MetricPicker
          label="Add axis"
          value=""
          placeholder="Search metrics"
          options={addable}
          onChange={key => show([...keys, key])}
        />
      )}
      <Menu label="Axes" name="Select axes">
        <div className="analysis-axes">
          {all.map(axis => (
            <Checkbox
              key={axis.key}
              label={titleOf(axis)}
              on={keys.includes(axis.key)}
              onChange={on => show(on ? [...keys, axis.key] : keys.filter(key => key !== axis.key))}
            />
          ))}
        </div>
      </Menu>
    </>
  );
  return (
    <Framed
      size="wide"
      title="Parallel coordinates"
      hint={`Drag along an axis to filter trials in all views. Color: ${titleOf(metric)}`}
      actions={actions}
    >
      <Parallel
        points={points}
        axes={axes}
        shares={shares}
        ranking={ranking}
        brushes={charts.brushes}
        active={active}
        chosen={chosen}
        onBrushes={charts.onBrushes}
        onRest={charts.onCommit}
        onActive={onActive}
        onOpen={onOpen}
        onOrder={show}
        legend={legend}
      />
    </Framed>
  );
}

function parallelLegend(metric: Axis, axes: readonly Axis[], parameters: number): LegendItem[] {
  const shown = axes.filter(axis => axis.key.startsWith("params.")).length;
  const ramp: LegendItem = { sign: "ramp", label: `${titleOf(metric)}, ${rampText(metric)}` };
  if (shown >= parameters) return [ramp];
  return [ramp, { sign: "note", label: `${shown} of ${parameters} parameters; “Select axes” adds others` }];
}

/** The axes named in the URL; by default the first parameters and the objectives. */
function chosenAxes(all: readonly Axis[], named: string, metric: Axis): Axis[] {
  const found = axisKeys(named).flatMap(key => all.find(axis => axis.key === key) ?? []);
  if (found.length > 1) return found;
  const parameters = all.filter(axis => axis.key.startsWith("params."));
  const outcomes = all.filter(axis => !parameters.includes(axis));
  const objectives = outcomes.filter(
    axis => (!(axis.key in MEASURED) && !figureOf(axis.key)) || axis.key === metric.key,
  );
  return [...parameters.slice(0, MOST_AXES), ...objectives];
}

export function ParetoPanel({
  objectives,
  points,
  inside,
  active,
  selected,
  onActive,
  onOpen,
}: Omit<Charted, "metric"> & { objectives: readonly Axis[] }) {
  const [x, y, pick] = usePair("pareto", objectives);
  const log = useLogChoice();
  if (!x || !y) return null;
  return (
    <Framed size="half" title="Pareto front" hint="Trials that no other trial dominates" actions={pick}>
      <LazyChart height={280} eager>
        <Pareto
          points={points}
          x={x}
          y={y}
          log={log}
          inside={inside}
          active={active}
          selected={selected}
          onActive={onActive}
          onOpen={onOpen}
        />
      </LazyChart>
    </Framed>
  );
}

export function ContourPanel({
  parameters,
  points,
  metric,
  inside,
  active,
  onActive,
  onOpen,
}: Charted & { parameters: readonly Axis[] }) {
  const [x, y, pick] = usePair("contour", parameters);
  const shares = useShares(points, metric);
  if (!x || !y) return null;
  return (
    <Framed size="half" title="Contour" hint={`${titleOf(metric)} over two parameters`} actions={pick}>
      <LazyChart height={360}>
        <Contour
          points={points}
          x={x}
          y={y}
          metric={metric}
          shares={shares}
          inside={inside}
          active={active}
          onActive={onActive}
          onOpen={onOpen}
        />
      </LazyChart>
    </Framed>
  );
}

/** Two of these axes, selected in the header of the panel and stored in the URL; the first two by default. */
export function usePair(key: string, axes: readonly Axis[]): [Axis | undefined, Axis | undefined, ReactNode] {
  const [named, setNamed] = useQueryState(key);
  const [xKey, yKey] = named.split("|");
  const x = axes.find(axis => axis.key === xKey) ?? axes[0];
  const y = axes.find(axis => axis.key === yKey && axis !== x) ?? axes.find(axis => axis !== x);
  const options = axes.map(axis => ({ value: axis.key, name: titleOf(axis) }));
  if (!x || !y || axes.length < 3) return [x, y, null];
  const controls = (
    <>
      <MetricPicker
        label="X axis"
        value={x.key}
        options={options}
        onChange={value => setNamed(`${value}|${value === y.key ? x.key : y.key}`)}
      />
      <MetricPicker
        label="Y axis"
        value={y.key}
        options={options}
        onChange={value => setNamed(`${value === x.key ? y.key : x.key}|${value}`)}
      />
    </>
  );
  return [x, y, controls];
}

type SlicesProps = Charted & { parameters: readonly Axis[]; ranked: boolean }; // ranked: by importance

export function SlicePanels({ parameters, ranked, points, metric, ...linked }: SlicesProps) {
  const shares = useShares(points, metric);
  const log = useLogChoice();
  const values = useValueAxis(points, metric, log, linked.inside);
  const best = useMemo(() => bestRow(points, metric, linked.inside), [points, metric, linked.inside]);
  const marked = useMemo(() => (best < 0 ? [] : [best]), [best]);
  const unfinished = useUnfinishedItems(points, metric, linked.inside);
  const { count: _, ...drawn } = linked;
  const [all, setAll] = useQueryState("slices");
  const showsAll = all === "all";
  return (
    <>
      {(showsAll ? parameters : parameters.slice(0, MOST_SLICES)).map(parameter => (
        <Framed
          key={parameter.key}
          size="third"
          title={parameter.name}
          hint={`${titleOf(metric)} by ${parameter.name}`}
        >
          <LazyChart height={220}>
            <Slice
              {...drawn}
              points={points}
              parameter={parameter}
              metric={values}
              shares={shares}
              marked={marked}
              unfinished={unfinished}
            />
          </LazyChart>
        </Framed>
      ))}
      {parameters.length > MOST_SLICES && (
        <p className="analysis-wide analysis-more">
          {showsAll
            ? `Slices of all ${parameters.length} parameters${ranked ? ", the most important first" : ""}.`
            : `Slices of ${MOST_SLICES} of ${parameters.length} parameters${ranked ? ", the most important ones" : ""}.`}
          <Button onClick={() => setAll(showsAll ? "" : "all")}>
            {showsAll ? `Show ${MOST_SLICES}` : `Show all ${parameters.length}`}
          </Button>
        </p>
      )}
    </>
  );
}

export function Framed({
  size,
  ...panel
}: {
  size: string;
  title: string;
  hint: string;
  actions?: ReactNode;
  children: ReactNode;
}) {
  return (
    <div className={`analysis-${size}`}>
      <Panel {...panel} />
    </div>
  );
}
