// Any two of parameters, results and logged metrics against each other; the axes are in the URL.
import { useMemo } from "react";
import { type Axis, columnNameOf, titleOf, withRoom } from "../../charts/axis";
import { LazyChart } from "../../charts/lazy-chart";
import { rampText } from "../../charts/ramp-meaning";
import { scaledAxis, useLogChoice } from "../../charts/result-axis-scale";
import { Scatter } from "../../charts/scatter";
import { columnOf, goodness, type Points } from "../../charts/trial-columns";
import { finishedOf } from "../../charts/unfinished";
import { formatCount } from "../../format";
import { figureOptions } from "../../trials/metric-summary-columns";
import { useMetricNames } from "../../trials/use-metric-names";
import { useQueryState } from "../../url-query-state";
import { MetricPicker } from "../../widgets/combobox";
import { Panel } from "../../widgets/panel";
import { useUnfinishedItems } from "./analysis-panels";
import type { Linked } from "./linked-charts";

type Props = Linked & {
  sweepId: number;
  points: Points;
  metric: Axis;
  parameters: readonly Axis[];
  outcomes: readonly Axis[];
};

const DESCRIBED = 6; // parameters in the tooltip, the most important ones

export function ScatterPanel({ sweepId, points, metric, parameters, outcomes, count, ...linked }: Props) {
  const [named, setNamed] = useQueryState("scatter");
  const [xKey, yKey] = scatterKeys(named);
  const all = useMemo(() => [...parameters, ...outcomes], [parameters, outcomes]);
  const { names: metrics } = useMetricNames(sweepId);
  const options = useMemo(() => {
    const own = all.map(axis => ({ value: axis.key, name: titleOf(axis) }));
    return [...own, ...figureOptions(metrics).filter(option => !all.some(axis => axis.key === option.value))];
  }, [all, metrics]);
  const x = all.find(axis => axis.key === xKey) ?? all[0];
  const y = all.find(axis => axis.key === yKey) ?? metric;
  const log = useLogChoice();
  const [across, up] = useMemo(
    () => [x && withRoom(scaledAxis(x, points, log)), withRoom(scaledAxis(y, points, log))],
    [x, y, points, log],
  );
  const shares = useMemo(() => goodness(finishedOf(points, metric.key), metric.goal), [points, metric]);
  const unfinished = useUnfinishedItems(points, y, linked.inside);
  if (!x || !across) return null;
  const set = (keys: readonly string[]) => setNamed(keys.map(encodeURIComponent).join("|"));
  return (
    <div className="analysis-wide">
      <Panel
        title="Scatter"
        hint={`${titleOf(y)} against ${titleOf(x)}. Color: ${titleOf(metric)}`}
        actions={
          <>
            <MetricPicker label="X axis" value={x.key} options={options} onChange={key => set([key, y.key])} />
            <MetricPicker label="Y axis" value={y.key} options={options} onChange={key => set([x.key, key])} />
          </>
        }
      >
        <LazyChart height={320}>
          <Scatter
            {...linked}
            points={points}
            name={`scatter-${y.name}-${x.name}`}
            title={`${titleOf(y)} against ${titleOf(x)}`}
            legend={[{ sign: "ramp", label: `${titleOf(metric)}, ${rampText(metric)}` }, ...unfinished]}
            described={[metric, ...parameters.slice(0, DESCRIBED)]}
            columns={{ [columnNameOf(metric)]: (row, exact) => columnOf(exact, metric.key)[row] }}
            x={across}
            y={up}
            shares={shares}
            height={320}
            label={`${y.name} against ${x.name}, ${formatCount(count)} trials.`}
          />
        </LazyChart>
      </Panel>
    </div>
  );
}

/** The keys of both axes in the URL. */
export function scatterKeys(named: string): string[] {
  return named === "" ? [] : named.split("|").map(decodeURIComponent);
}
