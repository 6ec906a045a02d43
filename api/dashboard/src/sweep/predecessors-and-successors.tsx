// The sweeps directly before and after a sweep, and the values that it took from one of them.
import { useQueryClient } from "@tanstack/react-query";
import { Link } from "wouter";
import type { Schemas } from "../api";
import { formatValue } from "../format";
import { type Changes, useLive } from "../live";
import { keys } from "../query-keys";
import { trialHref } from "../trials/trial-references";
import { StateBadge } from "../widgets/state-badge";
import type { Sweep } from "./sweep";
import "./predecessors-and-successors.css";

type Linked = Schemas["LinkedSweepView"];

export function SweepChain({ sweep }: { sweep: Sweep }) {
  const queries = useQueryClient();
  const linked = [...sweep.predecessors, ...sweep.successors];
  useLive<Changes>("changes", changes => {
    if (linked.some(each => changes.sweeps.includes(each.id)))
      void queries.invalidateQueries({ queryKey: keys.sweep(sweep.id, "itself") });
  });
  if (linked.length === 0) return null;
  return (
    <nav className="chain" aria-label="Chain of sweeps">
      <ol>
        <Step name="After" sweeps={sweep.predecessors} />
        <li aria-current="page">
          <b>this sweep</b>
        </li>
        <Step name="Before" sweeps={sweep.successors} />
      </ol>
      {sweep.fixed && (
        <p className="chain-fixed">
          {Object.entries(sweep.fixed.params)
            .map(([name, value]) => `${name} = ${formatValue(value)}`)
            .join(", ")}{" "}
          from <Link href={trialHref(sweep.fixed.sweep_id, sweep.fixed.number)}>trial {sweep.fixed.number}</Link> of{" "}
          <Link href={`/sweeps/${sweep.fixed.sweep_id}`}>sweep {sweep.fixed.sweep_id}</Link>
        </p>
      )}
    </nav>
  );
}

function Step({ name, sweeps }: { name: string; sweeps: Linked[] }) {
  if (sweeps.length === 0) return null;
  return (
    <li>
      <span className="chain-name">{name}</span>
      {sweeps.map(each => (
        <span key={each.id} className="chain-sweep">
          <Link href={`/sweeps/${each.id}`}>{each.name}</Link> <StateBadge state={each.state} />
        </span>
      ))}
    </li>
  );
}

/** "after sweep 3, 4": in lists; empty without predecessors. */
export function afterText(sweep: Sweep): string {
  const ids = sweep.predecessors.map(each => each.id);
  return ids.length === 0 ? "" : `after sweep ${ids.join(", ")}`;
}
