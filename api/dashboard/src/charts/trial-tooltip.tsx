// The tooltip of a trial: its number and state, and some of its columns.
import { formatDuration, formatValue } from "../format";
import { formatMegabytes } from "../usage/measures";
import { CutName } from "../widgets/cut-name";
import { type Axis, MEASURED, titleOf } from "./axis";
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
  return (
    <>
      <dt>
        <CutName name={titleOf(axis)} />
      </dt>
      <dd>
        <CutName name={textOf(axis, value)} />
      </dd>
    </>
  );
}

function textOf({ key }: Axis, value: unknown): string {
  const unit = MEASURED[key]?.unit;
  if (!unit || typeof value !== "number") return formatValue(value);
  return unit === "duration" ? formatDuration(value) : formatMegabytes(value);
}
