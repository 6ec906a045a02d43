// Two parameters against each other; the color of a trial is the rank of its result.
import { memo, useMemo } from "react";
import { formatCount } from "../format";
import { type Axis, withRoom } from "./axis";
import { Scatter, type ScatterProps } from "./scatter";
import type { Points } from "./trial-columns";

type RankProps = Pick<ScatterProps, "inside" | "shares" | "marked" | "active" | "selected" | "onActive" | "onOpen"> & {
  points: Points;
  x: Axis;
  y: Axis;
  metric: Axis;
};

export const Rank = memo(function Rank({ points, x, y, metric, ...rest }: RankProps) {
  const across = useMemo(() => withRoom(x), [x]);
  const up = useMemo(() => withRoom(y), [y]);
  const label = `Rank of ${metric.name} by ${x.name} and ${y.name}, ${formatCount(points.shown)} trials.`;
  return <Scatter points={points} x={across} y={up} label={label} {...rest} />;
});
