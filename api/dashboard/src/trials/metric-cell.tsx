// A figure of a metric in the table, with a mark if some values of the metric are NaN or infinite.
import { formatCount, formatNumber } from "../format";
import { figureKey } from "./metric-summary-columns";
import type { Row } from "./use-table-windows";
import "./metric-cell.css";

export function MetricCell({ row, columnKey, metric }: { row: Row; columnKey: string; metric: string }) {
  const value = row.cell(columnKey);
  const others = Number(row.cell(figureKey("non_finite", metric)) ?? 0);
  return (
    <span title={typeof value === "number" ? String(value) : undefined}>
      <NonFinite count={others} />
      {others > 0 && value === null ? "NaN" : formatNumber(value as number | null, 5)}
    </span>
  );
}

/** The mark of a metric with values that are not finite. */
export function NonFinite({ count, step }: { count: number; step?: number | null }) {
  if (count === 0) return null;
  const text = `${formatCount(count)} ${count === 1 ? "value is" : "values are"} NaN or infinite${step == null ? "" : `, first at step ${formatCount(step)}`}`;
  return (
    <span role="img" aria-label={text} title={text} className="non-finite">
      NaN×{formatCount(count)}{" "}
    </span>
  );
}
