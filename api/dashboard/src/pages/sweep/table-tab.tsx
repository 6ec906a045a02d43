// The table of a sweep's trials: sorted and filtered by the service, fetched as rows scroll into view.

import { useEffect, useState } from "react";
import { useLocation } from "wouter";
import { useKeys } from "../../keyboard";
import { select, toggle, useSelection } from "../../selection";
import { reasonText } from "../../sweep/state-reason";
import type { Sweep } from "../../sweep/sweep";
import { useSweep } from "../../sweep/use-sweep";
import { ColumnsMenu } from "../../trials/column-chooser";
import { fetchIds, type Order, rangeOf } from "../../trials/range-selection";
import { SelectedActions } from "../../trials/selected-actions";
import { BEST_FIRST } from "../../trials/table-query";
import { DownloadMenu, GoTo } from "../../trials/table-tools";
import { trialHref } from "../../trials/trial-references";
import { TrialTable } from "../../trials/trial-table";
import { type SidePanel, useSidePanel } from "../../trials/use-side-panel";
import { useTableView } from "../../trials/use-table-view";
import { fetchTable, type Row, type Trials, useTable } from "../../trials/use-table-windows";
import { useRows } from "../../trials/use-virtual-rows";
import { useColumns } from "../../trials/use-visible-columns";
import { Button, ButtonLink } from "../../widgets/button";
import { part } from "../../widgets/lazy-part";
import { Empty, Failure, Loading, QueryResult } from "../../widgets/query-states";
import { toast } from "../../widgets/toast";
import "./table-tab.css";

const MAX_SELECTED = 500;
const TrialPanel = part("the trial", () => import("./trial-panel").then(module => module.TrialPanel));

export function TableTab({ sweepId }: { sweepId: number }) {
  useTable(sweepId, useTableView(sweepId), 0, 0); // requests the first rows along with the sweep
  return <QueryResult query={useSweep(sweepId)}>{sweep => <TableOf key={sweepId} sweep={sweep} />}</QueryResult>;
}

function TableOf({ sweep }: { sweep: Sweep }) {
  const { filter, setFilter, sort, setSort, ...view } = useTableView(sweep.id);
  const [matching, setMatching] = useState(0);
  const rows = useRows(matching);
  const { trials, error, retry } = useTable(sweep.id, { filter, sort, ...view }, rows.first, Math.max(0, rows.last));
  if (trials && trials.matching !== matching) setMatching(trials.matching);

  const { columns, shown, keys, metrics, onShown, onReset, onWidth } = useColumns(sweep, trials?.columns ?? []);
  const walk = useWalk({ sweepId: sweep.id, filter, sort }, trials, rows.scrollTo);
  const goTo = async (number: number) => {
    const { found } = await fetchTable(sweep.id, { filter, sort, limit: 1, find: number });
    if (found !== null) walk.to(found);
    else toast(`Trial ${number} does not match the filter.`, "failed");
  };
  const find = (number: number) => void goTo(number).catch((refused: Error) => toast(refused.message, "failed"));
  const panel = useSidePanel(trials, walk.active, walk.setActive, find);
  usePanelKeys(sweep.id, panel, walk);
  const { setActive } = walk;
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new result starts at the top
  useEffect(() => {
    rows.toTop();
    setActive(null);
  }, [filter, sort]);
  const { all, onAll } = useAll(sweep.id, filter, sort, matching);

  if (error) return <Failure error={error} onRetry={retry} />;
  if (!trials) return <Loading rows={8} what="Loading the trials" />;
  if (trials.total === 0) return <NoTrials sweep={sweep} />;
  return (
    <section className="panel table-panel" aria-label="Trials">
      <div className="table-tools">
        <SelectedActions sweepId={sweep.id} />
        <GoTo onGo={find} />
        <ColumnsMenu columns={columns} shown={keys} metrics={metrics} onShown={onShown} onReset={onReset} />
        <DownloadMenu sweepId={sweep.id} filter={filter} />
      </div>
      {trials.matching === 0 ? (
        <Empty title="No matching trials" hint="No trial of this sweep matches the filter.">
          <Button onClick={() => setFilter("")}>Clear filter</Button>
        </Empty>
      ) : (
        <TrialTable
          sweepId={sweep.id}
          trials={trials}
          columns={shown}
          onWidth={onWidth}
          sort={asColumn(sort, sweep)}
          onSort={key => setSort(nextSort(key, sort, sweep))}
          rows={rows}
          active={walk.active}
          onActive={walk.setActive}
          onOpen={panel.open}
          onToggle={walk.onToggle}
          all={all}
          onAll={onAll}
        />
      )}
      {panel.shown && (
        <TrialPanel sweepId={sweep.id} trialId={panel.shown.id} number={panel.shown.number} onClose={panel.close} />
      )}
    </section>
  );
}

function NoTrials({ sweep }: { sweep: Sweep }) {
  const over = sweep.ended_at !== null;
  return (
    <Empty
      title={over ? "This sweep has no trials" : "No trials yet"}
      hint={reasonText(sweep) || "Trials appear when the search has proposed the first one."}
    >
      {over && <ButtonLink href={`/new?from=${sweep.id}`}>New sweep from this one</ButtonLink>}
    </Empty>
  );
}

/** The row that has the keyboard cursor. */
function useWalk(of: Order, trials: Trials | null, scrollTo: (index: number) => void) {
  const { sweepId } = of;
  const [active, setActive] = useState<number | null>(null);
  const [anchor, setAnchor] = useState<number | null>(null);
  const [, go] = useLocation();
  const { selected } = useSelection(sweepId);
  const to = (index: number) => {
    setActive(index);
    scrollTo(index);
  };
  const step = (by: number) => {
    if (!trials || trials.matching === 0) return;
    to(Math.max(0, Math.min(trials.matching - 1, active === null ? 0 : active + by)));
  };
  const row = active === null ? undefined : trials?.row(active);
  const onToggle = (row: Row, index: number, range: boolean) => {
    if (range && anchor !== null && trials) {
      const { offset, limit, cut } = rangeOf(anchor, index, MAX_SELECTED);
      const choose = (ids: readonly number[]) => {
        select(sweepId, [...selected, ...ids]);
        if (cut) toast(`Selected the first ${MAX_SELECTED} of the range, the maximum.`);
      };
      const known = Array.from({ length: limit }, (_, at) => trials.row(offset + at)?.id);
      if (known.every(id => id !== undefined)) choose(known);
      else void fetchIds(of, offset, limit).then(choose, (refused: Error) => toast(refused.message, "failed"));
    } else toggle(sweepId, row.id);
    setAnchor(index);
  };
  useKeys("Table of trials", {
    j: { does: "next row", run: () => step(1) },
    k: { does: "previous row", run: () => step(-1) },
    x: { does: "select row", run: () => row && active !== null && onToggle(row, active, false) },
    o: { does: "open trial", run: () => row && go(trialHref(sweepId, row.number)) },
  });
  return { active, row, setActive, to, step, onToggle };
}

/** The keys of the side panel; arrows move through the rows only while it is open. */
function usePanelKeys(sweepId: number, panel: SidePanel, { row, step }: ReturnType<typeof useWalk>) {
  const [, go] = useLocation();
  useKeys("Table of trials", {
    p: { does: "show or hide the side panel", run: () => (panel.isOpen ? panel.close() : row && panel.open(row)) },
    Enter: { does: "open trial", run: () => row && go(trialHref(sweepId, row.number)) },
    ...(panel.isOpen && {
      ArrowDown: { does: "next row", run: () => step(1) },
      ArrowUp: { does: "previous row", run: () => step(-1) },
      Escape: { does: "close the side panel", run: panel.close },
    }),
  });
}

/** Whether all matching trials are selected; a click selects or clears them. */
function useAll(sweepId: number, filter: string, sort: string, matching: number) {
  const { selected } = useSelection(sweepId);
  const all: "none" | "some" | "all" =
    selected.size === 0 ? "none" : selected.size >= Math.min(matching, MAX_SELECTED) ? "all" : "some";
  const onAll = async () => {
    if (selected.size > 0) return select(sweepId, []);
    const table = await fetchTable(sweepId, { filter, sort, limit: MAX_SELECTED });
    select(sweepId, (table.columns.id ?? []) as number[]);
    if (matching > MAX_SELECTED) toast(`Selected the first ${MAX_SELECTED} trials, the maximum.`);
  };
  return { all, onAll: () => void onAll().catch((error: Error) => toast(error.message, "failed")) };
}

/** "best" as a column and its direction. */
function asColumn(sort: string, sweep: Sweep): string {
  const key = sort.replace(/^-/, "");
  const several = sweep.spec.metrics as { name: string; goal: string }[] | undefined;
  const first = several?.[0] ?? (sweep.spec.metric as { name: string; goal: string });
  if (key !== BEST_FIRST) return sort;
  const falling = (first.goal === "maximize") !== sort.startsWith("-");
  return `${falling ? "-" : ""}${several ? `values.${first.name}` : "value"}`;
}

const LARGEST_FIRST = /^((duration|running|queued)_s|peak_(gpu_)?memory_mb|(started|ended)_at|attempt|non_finite\(.*)$/;

/** Clicking a column header cycles through ascending, descending, and best first; times and memory descend first. */
export function nextSort(key: string, sort: string, sweep: Sweep): string {
  const now = asColumn(sort, sweep);
  const best = asColumn(BEST_FIRST, sweep);
  const [first, second] = best.replace(/^-/, "") === key ? [BEST_FIRST, `-${BEST_FIRST}`] : ordersOf(key);
  if (now.replace(/^-/, "") !== key) return first;
  return now === asColumn(first, sweep) ? second : BEST_FIRST;
}

function ordersOf(key: string): [string, string] {
  return LARGEST_FIRST.test(key) ? [`-${key}`, key] : [key, `-${key}`];
}
