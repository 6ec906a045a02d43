// Two parameters against each other; the color of a trial is the rank of its result.
import { memo, useMemo } from "react";
import { formatCount } from "../format";
import { type Axis, columnNameOf, titleOf, withRoom } from "./axis";
import { countIn } from "./brush-filter-terms";
import type { LegendItem } from "./legend";
import { rampText } from "./ramp-meaning";
import { Scatter, type ScatterProps } from "./scatter";
import { columnOf, type Points } from "./trial-columns";

type RankProps = Pick<ScatterProps, "inside" | "shares" | "marked" | "active" | "selected" | "onActive" | "onOpen"> & {
  points: Points;
  x: Axis;
  y: Axis;
  metric: Axis;
};

const BEST: LegendItem = { sign: "ring", token: "--gold", label: "best" };

export const Rank = memo(function Rank({ points, x, y, metric, inside, shares, ...rest }: RankProps) {
  const across = useMemo(() => withRoom(x), [x]);
  const up = useMemo(() => withRoom(y), [y]);
  const ranked = useMemo(
    () => inside.map((each, row) => (each && !Number.isNaN(shares?.[row] ?? Number.NaN) ? 1 : 0)),
    [inside, shares],
  ); // trials without a result have no rank, and would hide the others
  const label = `Rank of ${metric.name} by ${x.name} and ${y.name}, ${formatCount(countIn(inside))} trials.`;
  return (
    <Scatter
      points={points}
      name="rank"
      title={`Rank of ${titleOf(metric)} by ${titleOf(x)} and ${titleOf(y)}`}
      inside={ranked}
      shares={shares}
      x={across}
      y={up}
      label={label}
      legend={[{ sign: "ramp", label: `${titleOf(metric)}, ${rampText(metric)}` }, BEST]}
      columns={{ [columnNameOf(metric)]: (row, exact) => columnOf(exact, metric.key)[row] }}
      {...rest}
    />
  );
});
