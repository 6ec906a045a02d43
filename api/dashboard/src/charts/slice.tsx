// One parameter against the result.
import { memo, useMemo } from "react";
import { formatCount } from "../format";
import { type Axis, titleOf, withRoom } from "./axis";
import { countIn } from "./brush-filter-terms";
import type { LegendItem } from "./legend";
import { rampText } from "./ramp-meaning";
import { Scatter, type ScatterProps } from "./scatter";
import type { Points } from "./trial-columns";

type SliceProps = Pick<ScatterProps, "inside" | "shares" | "marked" | "active" | "selected" | "onActive" | "onOpen"> & {
  points: Points;
  parameter: Axis;
  metric: Axis; // the vertical axis, with its ends
  unfinished: readonly LegendItem[];
};

export const Slice = memo(function Slice({ points, parameter, metric, inside, unfinished, ...rest }: SliceProps) {
  const x = useMemo(() => withRoom(parameter), [parameter]);
  const label = `${metric.name} against ${parameter.name}, ${formatCount(countIn(inside))} trials.`;
  const legend: LegendItem[] = [{ sign: "ramp", label: `${titleOf(metric)}, ${rampText(metric)}` }, ...unfinished];
  return (
    <Scatter
      points={points}
      name={`slice-${parameter.name}`}
      title={`${titleOf(metric)} by ${titleOf(parameter)}`}
      x={x}
      y={metric}
      height={220}
      label={label}
      legend={legend}
      inside={inside}
      {...rest}
    />
  );
});
