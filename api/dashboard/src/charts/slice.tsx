// One parameter against the result: where the good values lie.
import { useMemo } from "react";
import { formatCount } from "../format";
import { type Axis, numberAxis, robustAxis, withRoom } from "./axis";
import { numbersOf, type Points } from "./points";
import { Scatter, type ScatterProps } from "./scatter";

type SliceProps = Pick<ScatterProps, "inside" | "shares" | "marked" | "active" | "selected" | "onActive" | "onOpen"> & {
  points: Points;
  parameter: Axis;
  metric: Axis;
  log: boolean;
};

export function Slice({ points, parameter, metric, log, inside, ...rest }: SliceProps) {
  const x = useMemo(() => withRoom(parameter), [parameter]);
  const y = useMemo(() => {
    const values = numbersOf(points, metric.key, inside);
    const isLog = log && values.every(value => value > 0);
    return withRoom(robustAxis(numberAxis(metric.key, metric.name, values, { log: isLog, goal: metric.goal }), values));
  }, [points, metric, log, inside]);
  const label = `${metric.name} against ${parameter.name}, ${formatCount(points.shown)} trials.`;
  return <Scatter points={points} x={x} y={y} height={220} label={label} inside={inside} {...rest} />;
}
