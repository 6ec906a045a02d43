// The filter above a sweep's tabs, shared by all of them: input, suggestions, errors, and the number of matches.
import { useEffect, useId, useMemo, useRef, useState } from "react";
import { ApiError } from "../api";
import { formatCount } from "../format";
import { useKeys } from "../keyboard";
import { useSweep } from "../sweep/use-sweep";
import { Button } from "../widgets/button";
import { Icon } from "../widgets/icon";
import { stateStyle } from "../widgets/state-badge";
import { STATES } from "./filter-fields";
import { suggest } from "./filter-suggestions";
import { termsOn, withTerm } from "./filter-terms";
import { filterNamesOf } from "./objectives-and-parameters";
import { useMetricNames } from "./use-metric-names";
import { useTableView } from "./use-table-view";
import { useFilterCount } from "./use-table-windows";
import { useTrialCounts } from "./use-trial-counts";
import "./filter-bar.css";

const EXAMPLE = "lr<0.01 state:finished -tag:bad top:50";
const BEST = "top:50";

/** `isTable`: the page shows the table of trials. */
export function FilterBar({ sweepId, isTable }: { sweepId: number; isTable: boolean }) {
  const { setFilter, ...view } = useTableView(sweepId);
  const { filter } = view;
  const count = useFilterCount(sweepId, view, isTable);
  const invalid = useFilterError(sweepId, isTable);
  return (
    <search className="filter">
      <div className="filter-line">
        <FilterField
          sweepId={sweepId}
          filter={filter}
          onFilter={setFilter}
          columns={Object.keys(count.data?.columns ?? {})}
          invalid={invalid !== null}
        />
        <p className="filter-count" role="status">
          {count.data && !invalid && (filter.trim() ? `${formatCount(count.data.matching)} of ` : "")}
          {count.data && !invalid && trialsOf(count.data.total)}
        </p>
      </div>
      {invalid && <FilterError filter={filter} error={invalid} />}
      <Chips sweepId={sweepId} filter={filter} onFilter={setFilter} />
    </search>
  );
}

/** The error of the filter in the URL; null if it is valid. */
export function useFilterError(sweepId: number, isTable: boolean): ApiError | null {
  const { error } = useFilterCount(sweepId, useTableView(sweepId), isTable);
  if (!(error instanceof ApiError) || ![400, 422].includes(error.status)) return null;
  return isTable && error.problem.position === undefined ? null : error; // else it is about the order or the columns
}

function trialsOf(count: number): string {
  return `${formatCount(count)} ${count === 1 ? "trial" : "trials"}`;
}

/** The filter with the invalid part marked, and the error message. */
function FilterError({ filter, error }: { filter: string; error: ApiError }) {
  const position = Number(error.problem.position ?? 0);
  const end = position + Number(error.problem.length ?? filter.length);
  return (
    <p className="filter-wrong" role="alert">
      <code>
        {filter.slice(0, position)}
        <mark>{filter.slice(position, end)}</mark>
        {filter.slice(end)}
      </code>
      <span>{error.message.replace(/^at character \d+: /, "")}</span>
    </p>
  );
}

function Chips({ sweepId, filter, onFilter }: { sweepId: number; filter: string; onFilter: (filter: string) => void }) {
  const sweep = useSweep(sweepId).data;
  const counts = useTrialCounts(sweepId, filter);
  const states = STATES.filter(state => sweep?.counts[state]);
  const best = termsOn(filter, "top").includes(BEST);
  if (states.length === 0) return null;
  return (
    <div className="filter-chips">
      {states.map(state => {
        const on = termsOn(filter, "state").includes(`state:${state}`);
        return (
          <button
            key={state}
            type="button"
            className={`filter-chip badge-${stateStyle(state).tone}`}
            aria-pressed={on}
            onClick={() => onFilter(withTerm(filter, "state", on ? "" : `state:${state}`))}
          >
            <span aria-hidden="true">{stateStyle(state).icon}</span> {state} {counts && formatCount(counts[state] ?? 0)}
          </button>
        );
      })}
      <button
        type="button"
        className="filter-chip"
        aria-pressed={best}
        onClick={() => onFilter(withTerm(filter, "top", best ? "" : BEST))}
      >
        best 50
      </button>
    </div>
  );
}

type FieldProps = {
  sweepId: number;
  filter: string;
  onFilter: (filter: string) => void;
  columns: readonly string[];
  invalid: boolean;
};

function FilterField({ sweepId, filter, onFilter, columns, invalid }: FieldProps) {
  const sweep = useSweep(sweepId).data;
  const input = useRef<HTMLInputElement>(null);
  const id = useId();
  const [draft, setDraft] = useState(filter);
  const [cursor, setCursor] = useState(0);
  const [open, setOpen] = useState(false);
  const [chosen, setChosen] = useState(-1);
  const names = columns.join();
  const { names: metrics } = useMetricNames(sweepId, "", columns.length > 0 || invalid);
  // biome-ignore lint/correctness/useExhaustiveDependencies: of `columns`, only `names` matters
  const known = useMemo(() => filterNamesOf(sweep, columns, metrics), [sweep, names, metrics]);
  const { start, end, found } = suggest(draft, cursor, known);
  const shown = open && found.length > 0;

  useEffect(() => setDraft(filter), [filter]);
  useKeys("Sweep", { "/": { does: "filter trials", run: () => input.current?.focus() } });

  const apply = (text: string) => {
    setOpen(false);
    setChosen(-1);
    if (text.trim() !== filter) onFilter(text.trim());
  };
  const accept = (at: number) => {
    const picked = found[at];
    if (!picked) return;
    const next = draft.slice(0, start) + picked.insert + draft.slice(end).trimStart();
    setDraft(next);
    setChosen(-1);
    setOpen(picked.open);
    const place = start + picked.insert.length;
    setCursor(place);
    requestAnimationFrame(() => input.current?.setSelectionRange(place, place));
    if (!picked.open) onFilter(next.trim());
  };
  const onKey = (event: React.KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      event.preventDefault();
      if (!shown) setOpen(true);
      else setChosen(before => (before + step + found.length + (before < 0 && step < 0 ? 1 : 0)) % found.length);
    } else if (event.key === "Enter") {
      event.preventDefault();
      if (shown && chosen >= 0) accept(chosen);
      else apply(draft);
    } else if (event.key === "Tab" && shown && chosen >= 0) {
      event.preventDefault();
      accept(chosen);
    } else if (event.key === "Escape") {
      event.preventDefault();
      if (shown) setOpen(false);
      else input.current?.blur();
    }
  };

  return (
    <div className="filter-field">
      <Icon name="search" size={16} />
      <input
        ref={input}
        type="text"
        role="combobox"
        aria-label="Filter trials"
        aria-expanded={shown}
        aria-controls={`${id}-list`}
        aria-autocomplete="list"
        aria-activedescendant={shown && chosen >= 0 ? `${id}-${chosen}` : undefined}
        aria-invalid={invalid || undefined}
        autoComplete="off"
        autoCapitalize="off"
        spellCheck={false}
        maxLength={2000}
        placeholder={`Filter, for example ${EXAMPLE}`}
        value={draft}
        onChange={event => {
          setDraft(event.target.value);
          setCursor(event.target.selectionStart ?? event.target.value.length);
          setOpen(true);
          setChosen(-1);
        }}
        onSelect={event => setCursor(event.currentTarget.selectionStart ?? 0)}
        onFocus={() => setOpen(true)}
        onBlur={() => apply(draft)}
        onKeyDown={onKey}
      />
      {draft === "" ? (
        <span className="filter-key" aria-hidden="true">
          /
        </span>
      ) : (
        <Button quiet small title="Clear filter" onClick={() => apply("")}>
          <Icon name="close" size={14} />
        </Button>
      )}
      <div className="filter-list" hidden={!shown}>
        <div id={`${id}-list`} role="listbox" aria-label="Suggestions">
          {found.map((each, at) => (
            // biome-ignore lint/a11y/useKeyWithClickEvents: the input handles the keys
            <div
              key={each.insert}
              id={`${id}-${at}`}
              role="option"
              tabIndex={-1}
              aria-selected={at === chosen}
              className="filter-option"
              onMouseDown={event => event.preventDefault()}
              onClick={() => accept(at)}
            >
              <code>{each.label}</code>
              <span>{each.hint}</span>
            </div>
          ))}
        </div>
        <p className="filter-hint">
          Enter applies · terms are combined with AND · <code>-term</code> excludes
        </p>
      </div>
    </div>
  );
}
