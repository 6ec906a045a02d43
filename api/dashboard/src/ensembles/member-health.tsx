// Live health of each member: its device, queue, latency, and circuit breaker.

import { Link } from "wouter";
import { formatCount, formatMs, formatShare } from "../format";
import { trialHref } from "../trials/trial-references";
import { ScrollX } from "../widgets/scroll-x";
import { StateBadge } from "../widgets/state-badge";
import type { Ensemble, Member } from "./ensemble-types-and-labels";
import "./member-health.css";

type Replica = Member["replicas"][number];

const BREAKER: Record<string, string> = {
  ready: "closed",
  suspect: "closed",
  open: "open",
  half_open: "probing",
};

export function MembersTable({ ensemble }: { ensemble: Ensemble }) {
  const several = ensemble.members.some(member => member.replicas.length > 1);
  return (
    <ScrollX label="Members">
      <table className="figures members">
        <thead>
          <tr>
            <th scope="col">Member</th>
            <th scope="col" className="figures-number">
              Weight
            </th>
            {several && <th scope="col">Replica</th>}
            <th scope="col">State</th>
            <th scope="col">Device</th>
            <th scope="col" className="figures-number">
              Queue
            </th>
            <th scope="col" className="figures-number">
              p50
            </th>
            <th scope="col" className="figures-number">
              p99
            </th>
            <th scope="col" className="figures-number">
              Late
            </th>
            <th scope="col">Breaker</th>
            <th scope="col" className="figures-number">
              Process
            </th>
            <th scope="col" className="figures-number">
              Restarts
            </th>
          </tr>
        </thead>
        <tbody>
          {ensemble.members.flatMap(member =>
            member.replicas.map((replica, index) => (
              <tr key={replica.id}>
                {index === 0 && <MemberCells member={member} />}
                {several && <td>{replica.number}</td>}
                <ReplicaCells replica={replica} />
              </tr>
            )),
          )}
        </tbody>
      </table>
    </ScrollX>
  );
}

function MemberCells({ member }: { member: Member }) {
  const rows = member.replicas.length;
  return (
    <>
      <th scope="row" rowSpan={rows}>
        <Link href={trialHref(member.sweep_id, member.trial_number)}>Trial {member.trial_number}</Link>
      </th>
      <td rowSpan={rows} className="figures-number">
        {formatShare(member.weight)}
      </td>
    </>
  );
}

function ReplicaCells({ replica }: { replica: Replica }) {
  const known = replica.waiting !== null;
  return (
    <>
      <td>
        <StateBadge state={replica.state} title={replica.reason || undefined} />
        {replica.reason && <span className="members-reason">{replica.reason}</span>}
      </td>
      <td>{replica.device_ids.join(", ") || "–"}</td>
      <td className="figures-number">{formatCount(replica.waiting)}</td>
      <td className="figures-number">{formatMs(replica.p50_ms)}</td>
      <td className="figures-number">{formatMs(replica.p99_ms)}</td>
      <td className="figures-number">{known ? formatShare(replica.late_share) : "–"}</td>
      <td className={`members-breaker-${replica.state}`}>{known ? (BREAKER[replica.state] ?? "–") : "–"}</td>
      <td className="figures-number">{replica.pid ?? "–"}</td>
      <td className="figures-number">{formatCount(replica.restarts)}</td>
    </>
  );
}
