// The trials of a sweep's table: fetched in windows as they scroll into view; previous rows stay while the next load.
import { useQueries, useQuery } from "@tanstack/react-query";
import { useRef } from "react";
import { api, done, type Schemas } from "../api";
import { keys } from "../query-keys";
import { type TableQuery, type View, windowQuery, windowSize } from "./table-query";

export type Table = Schemas["TrialTableView"];
export type Row = { id: number; number: number; state: string; cell: (column: string) => unknown };
export type Trials = {
  total: number;
  matching: number;
  columns: readonly string[];
  row: (index: number) => Row | undefined;
  stale: boolean; // the rows belong to the previous filter or order
};

const RUNNING_MS = 10_000; // running durations change without events

export function fetchTable(sweepId: number, table: TableQuery, signal?: AbortSignal): Promise<Table> {
  const query = { ...table, filter: table.filter || undefined };
  return done(api.GET("/api/v1/sweeps/{sweep_id}/table", { params: { path: { sweep_id: sweepId }, query }, signal }));
}

function windowOptions(sweepId: number, view: View, window: number) {
  const { filter, sort, figures = [] } = view;
  return {
    queryKey: keys.sweep(sweepId, "table", filter, sort, window, ...figures),
    queryFn: ({ signal }: { signal: AbortSignal }) => fetchTable(sweepId, windowQuery(view, window), signal),
  };
}

/**
 * The number of trials that a filter matches, and its error; the first row provides the columns. `isTable`: the page
 * shows the table, whose first rows are requested anyway.
 */
export function useFilterCount(sweepId: number, view: View, isTable: boolean) {
  const { filter } = view;
  const count = {
    queryKey: keys.sweep(sweepId, "filter", filter),
    queryFn: ({ signal }: { signal: AbortSignal }) => fetchTable(sweepId, { filter, sort: "number", limit: 1 }, signal),
  };
  return useQuery<Table>({
    ...(isTable ? windowOptions(sweepId, view, 0) : count),
    placeholderData: (before, last) => (last?.queryKey[1] === sweepId ? before : undefined),
  });
}

/** The trials from the `first` to the `last` row in view, and the total number. */
export function useTable(sweepId: number, view: View, first: number, last: number) {
  const { filter, sort } = view;
  const size = windowSize(view);
  const from = Math.floor(first / size);
  const windows = Array.from({ length: Math.floor(Math.max(first, last) / size) - from + 1 }, (_, at) => from + at);
  const answers = useQueries({
    queries: windows.map(window => ({
      ...windowOptions(sweepId, view, window),
      placeholderData: undefined,
      refetchInterval: (query: { state: { data?: Table } }) =>
        query.state.data?.columns.state?.includes("running") ? RUNNING_MS : false,
    })),
  });
  const before = useRef<{ key: string; trials: Trials } | null>(null);
  const key = `${sweepId} ${sort} ${filter}`;
  const loaded = answers.flatMap((answer, at) => (answer.data ? [{ at: windows[at] ?? 0, table: answer.data }] : []));
  const newest = loaded.at(-1)?.table;
  if (newest) {
    const same = before.current?.key === key ? before.current.trials : null;
    before.current = { key, trials: asTrials(new Map(loaded.map(each => [each.at, each.table])), size, newest, same) };
  }
  const failed = answers.find(answer => answer.isError && !answer.data);
  const shown = before.current;
  return {
    trials: shown && { ...shown.trials, stale: shown.key !== key },
    error: failed?.error ?? null,
    retry: () => answers.forEach(answer => void (answer.isError && answer.refetch())),
  };
}

function asTrials(tables: ReadonlyMap<number, Table>, size: number, newest: Table, before: Trials | null): Trials {
  const columns = new Set(before?.columns);
  for (const table of tables.values()) for (const column of Object.keys(table.columns)) columns.add(column);
  return {
    total: newest.total,
    matching: newest.matching,
    columns: [...columns],
    row: index => {
      const table = tables.get(Math.floor(index / size));
      return table && rowOf(table, index % size);
    },
    stale: false,
  };
}

const rows = new WeakMap<Table, Map<number, Row>>();

/** The same object as long as the data are the same, so that a row is rendered once. */
function rowOf(table: Table, at: number): Row | undefined {
  const known = rows.get(table) ?? new Map<number, Row>();
  rows.set(table, known);
  const row = known.get(at) ?? newRow(table, at);
  if (row) known.set(at, row);
  return row;
}

function newRow(table: Table, at: number): Row | undefined {
  const cell = (column: string) => table.columns[column]?.[at] ?? null; // columns without values are left out
  const id = cell("id");
  return typeof id === "number"
    ? { id, number: Number(cell("number")), state: String(cell("state")), cell }
    : undefined;
}
