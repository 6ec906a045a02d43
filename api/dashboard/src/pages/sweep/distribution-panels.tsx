// The panels of the analysis that show all trials at once: the distribution of the result, and ranks by two parameters.
import { useMemo } from "react";
import { type Axis, titleOf } from "../../charts/axis";
import { Edf } from "../../charts/edf";
import { LazyChart } from "../../charts/lazy-chart";
import { Rank } from "../../charts/rank";
import { useLogChoice } from "../../charts/result-axis-scale";
import { bestRow, type Points } from "../../charts/trial-columns";
import { Framed, usePair, useShares } from "./analysis-panels";
import type { Linked } from "./linked-charts";

type Shown = Linked & { points: Points; metric: Axis };

export function DistributionPanel({ size, points, metric, count: _, ...linked }: Shown & { size: string }) {
  const log = useLogChoice();
  return (
    <Framed
      size={size}
      title="Distribution"
      hint={`Share of finished trials with at most each value of ${titleOf(metric)} (EDF)`}
    >
      <LazyChart height={300}>
        <Edf points={points} metric={metric} log={log} {...linked} />
      </LazyChart>
    </Framed>
  );
}

export function RankPanel({
  points,
  metric,
  parameters,
  count: _,
  ...linked
}: Shown & { parameters: readonly Axis[] }) {
  const [x, y, pick] = usePair("rank", parameters);
  const shares = useShares(points, metric);
  const best = useMemo(() => bestRow(points, metric, linked.inside), [points, metric, linked.inside]);
  const marked = useMemo(() => (best < 0 ? [] : [best]), [best]);
  if (!x || !y) return null;
  return (
    <Framed
      size="half"
      title="Rank"
      hint={`Two parameters; the color is the rank of ${titleOf(metric)}, the ring the best`}
      actions={pick}
    >
      <LazyChart height={300}>
        <Rank points={points} x={x} y={y} metric={metric} shares={shares} marked={marked} {...linked} />
      </LazyChart>
    </Framed>
  );
}
