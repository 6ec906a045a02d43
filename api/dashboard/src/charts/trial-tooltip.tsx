// The tooltip of a trial: its number and state, and some of its columns.
import { formatDuration, formatValue } from "../format";
import { CutName } from "../widgets/cut-name";
import { type Axis, titleOf } from "./axis";
import { columnOf, type Points } from "./trial-columns";

export function TrialTip({ points, row, axes }: { points: Points; row: number; axes: readonly Axis[] }) {
  const [number, state] = [columnOf(points, "number")[row], columnOf(points, "state")[row]];
  const broken = columnOf(points, "feasible")[row] === false;
  return (
    <>
      <b>
        Trial {number} · {state}
        {broken && ", violates a constraint"}
      </b>
      <dl>
        {axes.map(axis => (
          <Figure key={axis.key} axis={axis} value={columnOf(points, axis.key)[row]} />
        ))}
      </dl>
    </>
  );
}

function Figure({ axis, value }: { axis: Axis; value: unknown }) {
  const isTime = axis.key === "running_s";
  return (
    <>
      <dt>
        <CutName name={titleOf(axis)} />
      </dt>
      <dd>
        <CutName name={isTime && typeof value === "number" ? formatDuration(value) : formatValue(value)} />
      </dd>
    </>
  );
}
