// The trial table: renders only the rows in view, sorted by header clicks, navigated by keys.
import { type MouseEvent, memo, type RefObject, useEffect, useRef } from "react";
import { hover, useSelection } from "../selection";
import { CutName } from "../widgets/cut-name";
import { Icon } from "../widgets/icon";
import { ColumnEdge } from "./column-width";
import { type Column, isSortable } from "./columns";
import type { Row, Trials } from "./use-table-windows";
import type { Rows } from "./use-virtual-rows";
import "./trial-table.css";

const SELECT_PX = 36;

type TableProps = {
  sweepId: number;
  trials: Trials;
  columns: readonly Column[];
  sort: string;
  onSort: (key: string) => void;
  onWidth?: (key: string, width: number) => void;
  rows: Rows;
  active: number | null;
  onActive: (index: number) => void;
  onOpen: (row: Row) => void; // the side panel
  onToggle: (row: Row, index: number, range: boolean) => void;
  all: "none" | "some" | "all";
  onAll: () => void;
};

export function TrialTable(props: TableProps) {
  const { sweepId, trials, columns, rows, active } = props;
  const { selected, hovered } = useSelection(sweepId);
  const shown = Array.from({ length: rows.last - rows.first + 1 }, (_, at) => rows.first + at);
  const width = columns.reduce((sum, column) => sum + column.width, SELECT_PX);
  const latest = useRef<RowHandlers>(props);
  useEffect(() => {
    latest.current = props;
  });
  useEffect(() => () => hover(sweepId, null), [sweepId]);
  return (
    <div ref={rows.frame} className={trials.stale ? "trials-frame trials-stale" : "trials-frame"}>
      <table className="trials" aria-rowcount={trials.matching + 1} style={{ minWidth: width }}>
        <caption className="hidden-text">Trials of the sweep</caption>
        <colgroup>
          <col style={{ width: SELECT_PX }} />
          {columns.map(column => (
            <col key={column.key} style={{ width: column.width }} />
          ))}
        </colgroup>
        <Head {...props} />
        <tbody onMouseLeave={() => hover(sweepId, null)}>
          <Gap height={rows.above} span={columns.length + 1} />
          {shown.map(index => {
            const row = trials.row(index);
            if (!row) return <Bones key={`bones-${index}`} index={index} span={columns.length + 1} />;
            return (
              <TableRow
                key={row.id}
                sweepId={sweepId}
                columns={columns}
                row={row}
                index={index}
                handlers={latest}
                className={lookOf(row, selected, hovered, active === index)}
                checked={selected.has(row.id)}
              />
            );
          })}
          <Gap height={rows.below} span={columns.length + 1} />
        </tbody>
      </table>
    </div>
  );
}

function lookOf(row: Row, selected: ReadonlySet<number>, hovered: number | null, active: boolean): string {
  const looks = { selected: selected.has(row.id), hovered: hovered === row.id, active };
  return Object.entries(looks)
    .filter(([, on]) => on)
    .map(([className]) => `trials-${className}`)
    .join(" ");
}

/** A spacer for the rows that are not in view. */
function Gap({ height, span }: { height: number; span: number }) {
  if (height <= 0) return null;
  return (
    <tr style={{ height }}>
      <td colSpan={span} className="trials-gap" />
    </tr>
  );
}

function Bones({ index, span }: { index: number; span: number }) {
  return (
    <tr aria-rowindex={index + 2}>
      <td colSpan={span}>
        <span className="trials-bone" />
      </td>
    </tr>
  );
}

function Head({ columns, sort, onSort, onWidth, all, onAll }: TableProps) {
  const key = sort.replace(/^-/, "");
  return (
    <thead>
      <tr aria-rowindex={1}>
        <th className="trials-check">
          <input
            type="checkbox"
            aria-label="Select all matching trials"
            title="Select all matching trials, up to 500"
            checked={all === "all"}
            ref={box => {
              if (box) box.indeterminate = all === "some";
            }}
            onChange={onAll}
          />
        </th>
        {columns.map(column => {
          const by = key === column.key;
          const falling = sort.startsWith("-");
          return (
            <th
              key={column.key}
              title={column.title}
              aria-label={column.name}
              className={classOf(column)}
              aria-sort={by ? (falling ? "descending" : "ascending") : undefined}
            >
              {isSortable(column.key) ? (
                <button type="button" className="trials-sort" onClick={() => onSort(column.key)}>
                  <CutName name={column.name} />
                  {by && <Icon name={falling ? "down" : "up"} size={14} />}
                </button>
              ) : (
                <span className="trials-sort">
                  <CutName name={column.name} />
                </span>
              )}
              {onWidth && (
                <ColumnEdge name={column.name} width={column.width} onWidth={width => onWidth(column.key, width)} />
              )}
            </th>
          );
        })}
      </tr>
    </thead>
  );
}

function classOf(column: Column): string | undefined {
  const looks = [column.number && "trials-number", column.key === "number" && "trials-name"].filter(Boolean);
  return looks.join(" ") || undefined;
}

type RowHandlers = Pick<TableProps, "onActive" | "onOpen" | "onToggle">;
type RowProps = Pick<TableProps, "sweepId" | "columns"> & {
  row: Row;
  index: number;
  className: string;
  checked: boolean;
  handlers: RefObject<RowHandlers>; // so that new functions do not render all rows again
};

const TableRow = memo(({ sweepId, columns, row, index, className, checked, handlers }: RowProps) => {
  const toggled = (event: MouseEvent) => {
    handlers.current.onActive(index);
    handlers.current.onToggle(row, index, event.shiftKey);
  };
  return (
    <tr
      aria-rowindex={index + 2}
      aria-current={className.includes("active") || undefined}
      className={className || undefined}
      onMouseEnter={() => hover(sweepId, row.id)}
      onClick={event => {
        handlers.current.onActive(index);
        if (!(event.target as HTMLElement).closest("a, input") && window.getSelection()?.isCollapsed !== false)
          handlers.current.onOpen(row);
      }}
    >
      <td className="trials-check">
        <input
          type="checkbox"
          aria-label={`Select trial ${row.number}`}
          checked={checked}
          onClick={toggled}
          onChange={() => undefined}
        />
      </td>
      {columns.map(column => (
        <td key={column.key} className={classOf(column)}>
          {column.show(row)}
        </td>
      ))}
    </tr>
  );
});
