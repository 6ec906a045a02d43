// The page "Sweeps": every sweep with its state, progress, best value, and why it is waiting.
import { useInfiniteQuery } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { ApiError, api, done, type Schemas } from "../api";
import { useKeys } from "../keyboard";
import { ListFilters } from "../organize/list-filters";
import { keys } from "../query-keys";
import { ACTIVE_STATES, type Sweep } from "../sweep/sweep";
import { SweepsTable } from "../sweep/sweeps-table";
import { setQuery, useQueryState } from "../url-query-state";
import { useIsViewer } from "../use-session";
import { Button, ButtonLink } from "../widgets/button";
import { Icon } from "../widgets/icon";
import { PageHead } from "../widgets/page-head";
import { Panel } from "../widgets/panel";
import { Empty, Failure, Loading } from "../widgets/query-states";
import "./sweeps.css";

type State = Schemas["SweepState"];

const PAGE = 50;
const WAIT_MS = 250;
const CHOICES: Record<string, { name: string; states: readonly string[] }> = {
  "": { name: "All", states: [] },
  active: { name: "Active", states: ACTIVE_STATES },
  finished: { name: "Finished", states: ["finished"] },
  failed: { name: "Failed", states: ["failed"] },
  cancelled: { name: "Cancelled", states: ["cancelled"] },
};

export function SweepsPage() {
  const [search] = useQueryState("q");
  const [chosen] = useQueryState("state");
  const states = [...(CHOICES[chosen]?.states ?? [])] as State[];
  const query = useInfiniteQuery({
    queryKey: keys.sweeps("list", search, chosen),
    queryFn: ({ pageParam, signal }) =>
      done(
        api.GET("/api/v1/sweeps", {
          params: { query: { limit: PAGE, filter: search || undefined, state: states, after: pageParam ?? undefined } },
          signal,
        }),
      ),
    initialPageParam: null as number | null,
    getNextPageParam: page => page.next,
  });
  useEffect(() => {
    document.title = "Sweeps · Podium";
  }, []);
  const sweeps = query.data?.pages.flatMap(page => page.items);
  const isViewer = useIsViewer();
  const filtered = search !== "" || chosen !== "";
  return (
    <>
      <PageHead title="Sweeps">
        {!isViewer && (
          <ButtonLink primary href="/new">
            <Icon name="plus" size={16} /> New sweep
          </ButtonLink>
        )}
      </PageHead>
      <Bar search={search} chosen={chosen} problem={problemOf(query.error)} />
      {sweeps === undefined ? (
        problemOf(query.error) !== "" ? (
          <Empty title="Invalid filter" hint="See the message at the filter." />
        ) : query.isError ? (
          <Failure error={query.error} onRetry={() => void query.refetch()} />
        ) : (
          <Loading rows={6} what="Loading the sweeps" />
        )
      ) : sweeps.length === 0 ? (
        <Nothing filtered={filtered} />
      ) : (
        <Listed
          sweeps={sweeps}
          more={query.hasNextPage}
          busy={query.isFetchingNextPage}
          onMore={() => void query.fetchNextPage()}
        />
      )}
    </>
  );
}

/** The message about an invalid filter; other failures are shown below. */
function problemOf(error: Error | null): string {
  return error instanceof ApiError && error.status === 400 ? error.message : "";
}

function Bar({ search, chosen, problem }: { search: string; chosen: string; problem: string }) {
  const [typed, setTyped] = useState(search);
  const input = useRef<HTMLInputElement>(null);
  useKeys("Sweeps", { "/": { does: "filter the sweeps", run: () => input.current?.focus() } });
  useEffect(() => setTyped(search), [search]);
  useEffect(() => {
    if (typed === search) return;
    const timer = setTimeout(() => setQuery({ q: typed }), WAIT_MS);
    return () => clearTimeout(timer);
  }, [typed, search]);
  return (
    <search className="sweeps-bar">
      <input
        ref={input}
        type="search"
        aria-label="Filter sweeps"
        aria-invalid={problem !== "" || undefined}
        aria-describedby={problem === "" ? undefined : "sweeps-problem"}
        placeholder="Name, project:…, tag:…, owner:…, is:starred"
        maxLength={2000}
        spellCheck={false}
        value={typed}
        onChange={event => setTyped(event.target.value)}
      />
      <fieldset className="sweeps-states">
        <legend className="hidden-text">State</legend>
        {Object.entries(CHOICES).map(([key, { name }]) => (
          <button
            key={key}
            type="button"
            className="sweeps-state"
            aria-pressed={key === chosen}
            onClick={() => setQuery({ state: key })}
          >
            {name}
          </button>
        ))}
      </fieldset>
      <ListFilters filter={search} onFilter={filter => setQuery({ q: filter })} />
      {problem !== "" && (
        <p id="sweeps-problem" role="alert" className="sweeps-problem">
          {problem}
        </p>
      )}
    </search>
  );
}

function Nothing({ filtered }: { filtered: boolean }) {
  const isViewer = useIsViewer();
  if (filtered) {
    return (
      <Empty title="No matching sweeps" hint="Try another filter or state. Archived sweeps are found by is:archived.">
        <Button onClick={() => setQuery({ q: "", state: "" })}>Show all</Button>
      </Empty>
    );
  }
  return (
    <Empty
      title="No sweeps yet"
      hint="A sweep trains many configurations of a network in parallel, one per device, and finds the best. Start from an example, which takes about half a minute on any machine."
    >
      {!isViewer && (
        <ButtonLink primary href="/new">
          New sweep
        </ButtonLink>
      )}
    </Empty>
  );
}

type ListedProps = { sweeps: Sweep[]; more: boolean; busy: boolean; onMore: () => void };

function Listed({ sweeps, more, busy, onMore }: ListedProps) {
  return (
    <>
      <Panel flush>
        <SweepsTable sweeps={sweeps} />
      </Panel>
      {more && (
        <div className="sweeps-more">
          <Button busy={busy} onClick={onMore}>
            Show older sweeps
          </Button>
        </div>
      )}
    </>
  );
}
