// The weight of each member.
import { Link } from "wouter";
import { barFigure } from "../charts/bar-export";
import { ExportMenu } from "../charts/export";
import type { Figure } from "../charts/export-file";
import { formatShare } from "../format";
import { CutName } from "../widgets/cut-name";
import type { NamedMember } from "./member-score-comparison";
import "./member-weights.css";

export function Weights({
  members,
  weights,
  counted = true,
}: {
  members: readonly NamedMember[];
  weights: readonly number[];
  counted?: boolean;
}) {
  const most = Math.max(...weights, 1e-9);
  return (
    <>
      <ul className="weights">
        {members.map((member, position) => (
          <li key={member.name}>
            <span className="weights-name">
              {member.href ? (
                <Link href={member.href}>
                  <CutName name={member.name} />
                </Link>
              ) : (
                <CutName name={member.name} />
              )}
            </span>
            {counted && (
              <>
                <span className="weights-track" aria-hidden="true">
                  <span style={{ width: `${((weights[position] ?? 0) / most) * 100}%` }} />
                </span>
                <span className="weights-share">{formatShare(weights[position] ?? 0)}</span>
              </>
            )}
          </li>
        ))}
      </ul>
      {counted && (
        <div className="plot-foot plot-foot-end">
          <ExportMenu name="weights" figure={() => figureOf(members, weights)} />
        </div>
      )}
    </>
  );
}

function figureOf(members: readonly NamedMember[], weights: readonly number[]): Figure {
  const bars = members.map(({ name }, position) => ({ name, value: weights[position] ?? 0 }));
  const labelled = bars.map(bar => ({ ...bar, text: formatShare(bar.value) }));
  return barFigure({ name: "weights", title: "Weights of the members" }, labelled, ["member", "weight"]);
}
