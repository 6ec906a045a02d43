// Trials of several sweeps in one table: the union of their parameters, values and metrics. What a trial lacks is missing.
import { useMemo, useState } from "react";
import { Link } from "wouter";
import { formatDuration, formatNumber, formatValue } from "../../format";
import { trialHref } from "../../trials/trial-references";
import { Button } from "../../widgets/button";
import { Checkbox } from "../../widgets/checkbox";
import { Icon } from "../../widgets/icon";
import { Panel } from "../../widgets/panel";
import { Empty } from "../../widgets/query-states";
import { ScrollX } from "../../widgets/scroll-x";
import { Select } from "../../widgets/select";
import { StateBadge } from "../../widgets/state-badge";
import { type Column, columnsOf, differing, sortedBy } from "./joined-columns";
import type { JoinedTrial } from "./queries";

type Props = {
  trials: readonly JoinedTrial[];
  chosen: readonly number[]; // trials of the comparison, which can be removed
  best: number;
  hasSweeps: boolean;
  onBest: (best: number) => void;
  onDrop: (trialId: number) => void;
};

const BEST = [5, 10, 25, 50];

export function JoinedTable({ trials, chosen, best, hasSweeps, onBest, onDrop }: Props) {
  const [sort, setSort] = useState("");
  const [words, setWords] = useState("");
  const [only, setOnly] = useState(false);
  const all = useMemo(() => columnsOf(trials), [trials]);
  const columns = useMemo(() => {
    const parts = words.toLowerCase().split(/\s+/).filter(Boolean);
    const named = all.filter(column =>
      parts.every(part => `${column.group} ${column.name}`.toLowerCase().includes(part)),
    );
    return only ? differing(named, trials) : named;
  }, [all, words, only, trials]);
  const numbers = useMemo(() => new Set(all.filter(column => hasNumbers(column, trials))), [all, trials]);
  const alignOf = (column: Column) => (numbers.has(column) ? "joined-number" : undefined);
  const rows = useMemo(() => sortedBy(trials, all, sort), [trials, all, sort]);
  const actions = (
    <>
      {hasSweeps && (
        <Select
          label="Best of each sweep"
          value={String(best)}
          options={BEST.map(count => ({ value: String(count), name: String(count) }))}
          onChange={value => onBest(Number(value))}
        />
      )}
      <input
        type="search"
        aria-label="Filter columns"
        placeholder="Filter columns"
        value={words}
        onChange={event => setWords(event.target.value)}
      />
      <Checkbox label="Differences only" on={only} onChange={setOnly} />
    </>
  );
  return (
    <Panel title="Trials" hint="A dash is missing: the trial has no such parameter or metric." actions={actions} flush>
      {trials.length === 0 ? (
        <Empty title="No trials" hint="None of these sweeps has a finished trial yet." />
      ) : (
        <ScrollX label="Trials of all sweeps">
          <table className="joined">
            <thead>
              <tr>
                <th scope="col">Trial</th>
                <th scope="col">Sweep</th>
                <th scope="col">State</th>
                <th scope="col" className="joined-number">
                  Duration
                </th>
                {columns.map(column => (
                  <Head key={column.key} column={column} align={alignOf(column)} sort={sort} onSort={setSort} />
                ))}
              </tr>
            </thead>
            <tbody>
              {rows.map(trial => (
                <tr key={trial.id}>
                  <th scope="row">
                    <Link href={trialHref(trial.sweep_id, trial.number)}>Trial {trial.number}</Link>
                    {chosen.includes(trial.id) && (
                      <Button
                        quiet
                        small
                        title={`Remove trial ${trial.number} of ${trial.sweep_name} from the comparison`}
                        onClick={() => onDrop(trial.id)}
                      >
                        <Icon name="close" size={12} />
                      </Button>
                    )}
                  </th>
                  <td>
                    <Link href={`/sweeps/${trial.sweep_id}`}>{trial.sweep_name}</Link>
                  </td>
                  <td>
                    <StateBadge state={trial.state} />
                  </td>
                  <td className="joined-number">{formatDuration(trial.duration_s)}</td>
                  {columns.map(column => (
                    <Cell key={column.key} value={column.of(trial)} align={alignOf(column)} />
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </ScrollX>
      )}
    </Panel>
  );
}

function hasNumbers(column: Column, trials: readonly JoinedTrial[]): boolean {
  return trials.some(trial => typeof column.of(trial) === "number");
}

type HeadProps = { column: Column; align: string | undefined; sort: string; onSort: (sort: string) => void };

function Head({ column, align, sort, onSort }: HeadProps) {
  const [isUp, isDown] = [sort === column.key, sort === `-${column.key}`];
  const next = isUp ? `-${column.key}` : isDown ? "" : column.key;
  return (
    <th scope="col" className={align} aria-sort={isUp ? "ascending" : isDown ? "descending" : undefined}>
      <button type="button" className="joined-sort" onClick={() => onSort(next)}>
        <span className="joined-group">{column.group}</span>
        {column.name} {isUp ? "↑" : isDown ? "↓" : ""}
      </button>
    </th>
  );
}

function Cell({ value, align }: { value: unknown; align: string | undefined }) {
  if (value === undefined) {
    return (
      <td className={["joined-missing", align].filter(Boolean).join(" ")}>
        <span aria-hidden="true">–</span>
        <span className="hidden-text">missing</span>
      </td>
    );
  }
  if (typeof value === "number") {
    return (
      <td className={align} title={String(value)}>
        {formatNumber(value, 5)}
      </td>
    );
  }
  return <td className={align}>{formatValue(value)}</td>;
}
