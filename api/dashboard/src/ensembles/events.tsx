// What happened to an ensemble: its states, versions, evaluations, and restarts of members.
import { useQuery } from "@tanstack/react-query";
import { api, done, type Schemas } from "../api";
import { formatShare, formatTime } from "../format";
import { keys } from "../query-keys";
import { Panel } from "../widgets/panel";
import { QueryResult } from "../widgets/query-states";
import "./request-statistics.css";

type EnsembleEvent = Schemas["EnsembleEventView"];

const MOST = 100;

export function EventsPanel({ ensembleId }: { ensembleId: number }) {
  const query = useQuery({
    queryKey: keys.ensemble(ensembleId, "events"),
    queryFn: ({ signal }) => {
      const params = { path: { ensemble_id: ensembleId }, query: { limit: MOST } };
      return done(api.GET("/api/v1/ensembles/{ensemble_id}/events", { params, signal }));
    },
    placeholderData: undefined,
  });
  return (
    <Panel title="Events" hint="Newest first.">
      <QueryResult query={query} rows={3}>
        {events => (
          // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable areas must be reachable by keyboard
          <ul className="ensemble-events" aria-label="Events of the ensemble" tabIndex={0}>
            {events.map(event => (
              <li key={event.id}>
                <time dateTime={event.at}>{formatTime(event.at)}</time>
                <span>{eventText(event)}</span>
                {event.reason && <span className="ensemble-event-reason">{event.reason}</span>}
              </li>
            ))}
          </ul>
        )}
      </QueryResult>
    </Panel>
  );
}

const VERSIONS: Record<string, string> = {
  version_promoted: "promoted",
  version_rolled_back: "active again after a rollback",
  version_active: "active",
};

/** An event as a sentence without a period. */
export function eventText({ kind, version, member_names, canary_share }: EnsembleEvent): string {
  if (kind === "version_added") {
    const share = canary_share === null ? "" : ` as a canary with ${formatShare(canary_share, 0)} of the requests`;
    return `Version ${version} added${share}`;
  }
  const known = VERSIONS[kind];
  if (known !== undefined) return `Version ${version} ${known}`;
  if (kind.startsWith("member_")) {
    const [one, many] = kind === "member_failed" ? ["failed", "failed"] : ["died and is", "died and are"];
    const what = kind === "member_failed" ? "to load" : "restarted";
    const who = member_names.join(", ").replace(/^t/, "T") || "A member";
    return `${who} in version ${version} ${member_names.length > 1 ? many : one} ${what}`;
  }
  if (kind.startsWith("evaluation.")) return `Evaluation ${kind.slice("evaluation.".length)}`;
  return `Ensemble ${kind.replaceAll("_", " ")}`;
}
