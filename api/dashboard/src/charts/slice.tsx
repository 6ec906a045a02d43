// One parameter against the result.
import { memo, useMemo } from "react";
import { formatCount } from "../format";
import { type Axis, withRoom } from "./axis";
import { Scatter, type ScatterProps } from "./scatter";
import type { Points } from "./trial-columns";

type SliceProps = Pick<ScatterProps, "inside" | "shares" | "marked" | "active" | "selected" | "onActive" | "onOpen"> & {
  points: Points;
  parameter: Axis;
  metric: Axis; // the vertical axis, with its ends
};

export const Slice = memo(function Slice({ points, parameter, metric, inside, ...rest }: SliceProps) {
  const x = useMemo(() => withRoom(parameter), [parameter]);
  const label = `${metric.name} against ${parameter.name}, ${formatCount(points.shown)} trials.`;
  return <Scatter points={points} x={x} y={metric} height={220} label={label} inside={inside} {...rest} />;
});
