// The page "Ensembles": every ensemble with its state, ready members, and latency.

import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { useEffect } from "react";
import { Link } from "wouter";
import { api, done } from "../api";
import { type Ensemble, MODES, RULES } from "../ensembles/ensemble-types-and-labels";
import { formatMs } from "../format";
import { keys } from "../query-keys";
import { useQueryState } from "../url-query-state";
import { Button, ButtonLink } from "../widgets/button";
import { CutName } from "../widgets/cut-name";
import { PageHead } from "../widgets/page-head";
import { Panel } from "../widgets/panel";
import { Empty, Failure, Loading } from "../widgets/query-states";
import { RelativeTime } from "../widgets/relative-time";
import { ScrollX } from "../widgets/scroll-x";
import { StateBadge } from "../widgets/state-badge";
import "../ensembles/member-score-comparison.css";
import "./ensembles.css";

const PAGE = 50;
const POLL_MS = 5_000;

export function EnsemblesPage() {
  const [shown, setShown] = useQueryState("show", "wanted");
  const query = useInfiniteQuery({
    queryKey: keys.ensembles(),
    queryFn: ({ pageParam }) =>
      done(api.GET("/api/v1/ensembles", { params: { query: { limit: PAGE, after: pageParam } } })),
    initialPageParam: undefined as number | undefined,
    getNextPageParam: page => page.next ?? undefined,
    placeholderData: keepPreviousData,
    refetchInterval: POLL_MS,
  });
  useEffect(() => {
    document.title = "Ensembles · Podium";
  }, []);
  const all = query.data?.pages.flatMap(page => page.items) ?? [];
  const rows = shown === "all" ? all : all.filter(one => one.state !== "retired");
  return (
    <>
      <PageHead title="Ensembles">
        <label className="ensembles-retired">
          <input
            type="checkbox"
            checked={shown === "all"}
            onChange={event => setShown(event.target.checked ? "all" : "wanted")}
          />
          Show retired
        </label>
      </PageHead>
      <Panel flush>
        {query.data && rows.length > 0 && <Table rows={rows} />}
        {query.data && rows.length === 0 && <Nothing hidden={all.length} />}
        {!query.data && query.isError && <Failure error={query.error} onRetry={() => void query.refetch()} />}
        {!query.data && !query.isError && <Loading rows={4} />}
        {query.hasNextPage && (
          <div className="ensembles-more">
            <Button busy={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
              Show older ensembles
            </Button>
          </div>
        )}
      </Panel>
    </>
  );
}

function Nothing({ hidden }: { hidden: number }) {
  if (hidden > 0)
    return <Empty title="All ensembles are retired" hint="Show retired ensembles to see their evaluations." />;
  return (
    <Empty
      title="No ensembles yet"
      hint="An ensemble combines the best networks of a sweep: it is usually more accurate than any of them, and it responds even if some members are late. Build one in the “Ensemble” tab of a sweep."
    >
      <ButtonLink primary href="/">
        Choose a sweep
      </ButtonLink>
    </Empty>
  );
}

function Table({ rows }: { rows: readonly Ensemble[] }) {
  return (
    <ScrollX label="Ensembles">
      <table className="figures ensembles">
        <thead>
          <tr>
            <th scope="col">Ensemble</th>
            <th scope="col">State</th>
            <th scope="col">Members ready</th>
            <th scope="col" className="figures-number">
              Slowest p99
            </th>
            <th scope="col">Combination rule</th>
            <th scope="col">Execution mode</th>
            <th scope="col">Version</th>
            <th scope="col">Sweep</th>
            <th scope="col">Built</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(one => (
            <tr key={one.id}>
              <th scope="row">
                <Link href={`/ensembles/${one.id}`}>
                  <CutName name={one.name} />
                </Link>
              </th>
              <td>
                <StateBadge state={one.state} />
                {one.reason && <span className="ensembles-reason">{one.reason}</span>}
              </td>
              <td>
                <Ready ensemble={one} />
              </td>
              <td className="figures-number">{formatMs(slowest(one))}</td>
              <td>{RULES[one.combine] ?? one.combine}</td>
              <td>{MODES[one.mode] ?? one.mode}</td>
              <td>
                {one.version}
                {one.target !== null && ` → ${one.target}`}
                {one.canary !== null && ` + canary ${one.canary}`}
              </td>
              <td>
                {one.sweep_id === null ? (
                  "several"
                ) : (
                  <Link href={`/sweeps/${one.sweep_id}/ensemble`}>{one.sweep_id}</Link>
                )}
              </td>
              <td>
                <RelativeTime time={one.created_at} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollX>
  );
}

function Ready({ ensemble }: { ensemble: Ensemble }) {
  const ready = ensemble.members.filter(member => member.state === "ready" || member.state === "suspect").length;
  return (
    <span className="ensembles-ready">
      {ready} of {ensemble.members.length}
      <span className="ensembles-dots" aria-hidden="true">
        {ensemble.members.slice(0, 12).map(member => (
          <span key={member.id} className={`ensembles-dot ensembles-dot-${member.state}`} />
        ))}
      </span>
    </span>
  );
}

function slowest(ensemble: Ensemble): number | null {
  const times = ensemble.members.flatMap(member => member.replicas.map(replica => replica.p99_ms ?? 0));
  const most = Math.max(0, ...times);
  return most > 0 ? most : null;
}
