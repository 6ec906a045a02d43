// The weight of each member.
import { Link } from "wouter";
import { formatShare } from "../format";
import type { NamedMember } from "./scores";
import "./weights.css";

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
    <ul className="weights">
      {members.map((member, position) => (
        <li key={member.name}>
          <span className="weights-name">
            {member.href ? <Link href={member.href}>{member.name}</Link> : member.name}
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
  );
}
