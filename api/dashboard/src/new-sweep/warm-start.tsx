// Warm start: the earlier sweeps whose trials initialize the search.
import { keepPreviousData, useQueries, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, done } from "../api";
import { formatCount } from "../format";
import { keys } from "../query-keys";
import { countedOf, objectivesOf, type Sweep, trialsText } from "../sweep/sweep";
import { useDebounced } from "../use-debounced";
import { QueryResult } from "../widgets/query-states";
import { Collapsible } from "./collapsible";
import type { Draft } from "./sweep-file-draft";
import { listAt } from "./yaml-values";

const LISTED = 8;

export function WarmStartForm({ draft }: { draft: Draft }) {
  const chosen = chosenIn(draft.document);
  const problem = draft.problemAt(["warm_start"]);
  return (
    <Collapsible
      title="Warm start"
      state={chosen.length === 0 ? "none" : `${chosen.length} selected`}
      hint="The search is initialized with the trials of earlier sweeps that have the same objectives. Trials that do not fit the search space are skipped."
      problem={problem}
    >
      <Choose draft={draft} chosen={chosen} />
      {problem && <p className="field-problem">{problem}</p>}
    </Collapsible>
  );
}

function Choose({ draft, chosen }: { draft: Draft; chosen: readonly number[] }) {
  const [search, setSearch] = useState("");
  const debounced = useDebounced(search.trim(), 200);
  const query = useQuery({
    queryKey: [...keys.sweeps(), "to-start-from", debounced],
    queryFn: ({ signal }) =>
      done(api.GET("/api/v1/sweeps", { params: { query: { search: debounced, limit: LISTED } }, signal })),
    placeholderData: keepPreviousData,
  });
  const known = useQueries({
    queries: chosen.map(id => ({
      queryKey: keys.sweep(id, "view"),
      queryFn: () => done(api.GET("/api/v1/sweeps/{sweep_id}", { params: { path: { sweep_id: id } } })),
      retry: false,
    })),
  });
  const setChosen = (id: number, on: boolean) =>
    void draft.update(({ document }) => {
      const others = chosenIn(document).filter(each => each !== id);
      const next = on ? [...others, id] : others;
      return [{ path: ["warm_start"], value: next.length === 0 ? null : `[${next.join(", ")}]` }];
    });
  const line = (id: number, sweep: Sweep | undefined) => (
    <label key={id} className="new-earlier">
      <input type="checkbox" checked={chosen.includes(id)} onChange={event => setChosen(id, event.target.checked)} />
      <span>
        <b>{sweep?.name ?? "unknown"}</b>
        <span className="field-hint">
          {" "}
          sweep {id}
          {sweep && ` · ${trialsText(countedOf(sweep))} · ${sweep.state} · ${objectivesText(sweep)}`}
        </span>
      </span>
    </label>
  );
  return (
    <>
      <input
        type="search"
        aria-label="Search earlier sweeps by name"
        placeholder="Search by name"
        value={search}
        onChange={event => setSearch(event.target.value)}
      />
      <div className="new-earliers">
        {chosen.map((id, place) => line(id, known[place]?.data))}
        <QueryResult query={query} rows={2}>
          {({ items, next }) => (
            <>
              {items.filter(({ id }) => !chosen.includes(id)).map(sweep => line(sweep.id, sweep))}
              {items.length === 0 && (
                <p className="field-hint">{debounced ? "No sweep name matches." : "No sweeps yet."}</p>
              )}
              {next && <p className="field-hint">Showing the newest {formatCount(LISTED)}; search to find others.</p>}
            </>
          )}
        </QueryResult>
      </div>
    </>
  );
}

function chosenIn(document: unknown): number[] {
  return listAt(document, ["warm_start"]).map(Number);
}

function objectivesText(sweep: Sweep): string {
  return objectivesOf(sweep)
    .map(({ name, goal }) => `${goal} ${name}`)
    .join(", ");
}
