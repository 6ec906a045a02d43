// The axis of a result over the drawn trials. Returns the same object while its ends do not change.
import { useMemo, useRef } from "react";
import { type Axis, numberAxis, robustAxis, withRoom } from "./axis";
import { isLogScale, type LogChoice } from "./result-axis-scale";
import { numbersOf, type Points } from "./trial-columns";

export function useValueAxis(points: Points, metric: Axis, log: LogChoice, inside: Uint8Array): Axis {
  const previous = useRef<Axis | null>(null);
  // Of all trials: a brush does not change the scale.
  const isLogOfAll = useMemo(() => isLogScale(log, numbersOf(points, metric.key)), [points, metric.key, log]);
  return useMemo(() => {
    const values = numbersOf(points, metric.key, inside);
    const fullAxis = numberAxis(metric.key, metric.name, values, {
      log: isLogOfAll,
      goal: metric.goal,
      unit: metric.unit,
    });
    const axis = withRoom(robustAxis(fullAxis, values));
    const before = previous.current;
    if (!before || (Object.keys(axis) as (keyof Axis)[]).some(key => key !== "choices" && before[key] !== axis[key]))
      previous.current = axis;
    return previous.current as Axis;
  }, [points, metric, isLogOfAll, inside]);
}
