// A short list of the ensembles built from the sweep.
import { useQueries } from "@tanstack/react-query";
import { Link } from "wouter";
import { api, done } from "../api";
import { keys } from "../query-keys";
import { Panel } from "../widgets/panel";
import { RelativeTime } from "../widgets/relative-time";
import { StateBadge } from "../widgets/state-badge";
import { RULES } from "./ensemble-types-and-labels";
import "./sweep-ensembles.css";

const SHOWN = 8;

export function EnsemblesOfSweep({ ids }: { ids: readonly number[] }) {
  const newest = [...ids].sort((one, other) => other - one).slice(0, SHOWN);
  const found = useQueries({
    queries: newest.map(id => ({
      queryKey: keys.ensemble(id),
      queryFn: () => done(api.GET("/api/v1/ensembles/{ensemble_id}", { params: { path: { ensemble_id: id } } })),
    })),
  });
  if (ids.length === 0) return null;
  return (
    <Panel title="Ensembles from this sweep">
      <ul className="of-sweep">
        {found.flatMap(({ data }) =>
          data
            ? [
                <li key={data.id}>
                  <Link href={`/ensembles/${data.id}`}>{data.name}</Link>
                  <StateBadge state={data.state} />
                  <span className="of-sweep-about">
                    {data.members.length} members · {RULES[data.combine] ?? data.combine} ·{" "}
                    <RelativeTime time={data.created_at} />
                  </span>
                </li>,
              ]
            : [],
        )}
      </ul>
      {ids.length > SHOWN && <Link href="/ensembles">All {ids.length} ensembles</Link>}
    </Panel>
  );
}
