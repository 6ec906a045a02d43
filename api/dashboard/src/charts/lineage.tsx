// The lineage of a population: a row for each trial, a cell for each interval, and an arrow from each donor.
import { useMemo } from "react";
import { Link } from "wouter";
import type { Schemas } from "../api";
import type { Size } from "../auto-redraw-canvas";
import { formatCount, formatNumber, formatValue } from "../format";
import { token } from "../theme";
import { trialHref } from "../trials/trial-references";
import { shadeOf, shades } from "./colour";
import { ExportMenu } from "./export";
import type { Figure, Rows } from "./export-file";
import { Legend, type LegendItem } from "./legend";
import "./lineage.css";

export type Interval = Schemas["IntervalView"];

const CELL = { width: 26, height: 16, gap: 6 };
const LABEL = 34;
const TOP = 18;
export const MOST_CELLS = 4_000; // elements of the page; of more, the newest intervals are drawn

type Props = { sweepId: number; intervals: readonly Interval[]; goal: "maximize" | "minimize"; metric: string };

export function Lineage({ sweepId, intervals, goal, metric }: Props) {
  const { cells, arrows, trials, first, last } = useMemo(() => layoutOf(intervals, goal), [intervals, goal]);
  const colours = useMemo(() => shades(), []);
  const width = LABEL + (last - first + 1) * (CELL.width + CELL.gap);
  const height = TOP + trials.length * (CELL.height + CELL.gap);
  return (
    <div className="lineage">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable areas must be reachable by keyboard */}
      <div className="lineage-scroll" tabIndex={0}>
        {/* biome-ignore lint/a11y/useSemanticElements: a group of links in SVG; the role of an image would hide them */}
        <svg width={width} height={height} role="group" aria-label={summaryOf(intervals, trials.length)}>
          {Array.from({ length: last - first + 1 }, (_, index) => first + index).map(number => (
            <text key={number} className="lineage-label" x={xOf(number, first) + CELL.width / 2} y={11}>
              {number}
            </text>
          ))}
          {trials.map((trial, row) => (
            <Link key={trial.id} href={trialHref(sweepId, trial.number)} aria-label={`Trial ${trial.number}`}>
              <text className="lineage-label lineage-trial" x={LABEL - 8} y={yOf(row) + CELL.height - 4}>
                {trial.number}
              </text>
            </Link>
          ))}
          {cells.map(cell => (
            <rect
              key={`${cell.trial}-${cell.interval}`}
              className={cell.share === null ? "lineage-cell lineage-open" : "lineage-cell"}
              x={xOf(cell.interval, first)}
              y={yOf(cell.row)}
              width={CELL.width}
              height={CELL.height}
              fill={cell.share === null ? undefined : colours[shadeOf(cell.share)]}
            >
              <title>{cell.title}</title>
            </rect>
          ))}
          {arrows.map(arrow => (
            <line
              key={`${arrow.to.row}-${arrow.to.interval}`}
              className="lineage-arrow"
              x1={xOf(arrow.from.interval, first) + CELL.width}
              y1={yOf(arrow.from.row) + CELL.height / 2}
              x2={xOf(arrow.to.interval, first)}
              y2={yOf(arrow.to.row) + CELL.height / 2}
              markerEnd="url(#lineage-head)"
            />
          ))}
          <defs>
            <marker
              id="lineage-head"
              viewBox="0 0 6 6"
              refX="6"
              refY="3"
              markerWidth="5"
              markerHeight="5"
              orient="auto"
            >
              <path className="lineage-head" d="M0 0L6 3L0 6z" />
            </marker>
          </defs>
        </svg>
      </div>
      <div className="plot-foot">
        <Legend items={legendOf(metric)} />
        <ExportMenu name="lineage" figure={() => figureOf({ intervals, goal, metric }, { width, height })} />
      </div>
    </div>
  );
}

function legendOf(metric: string): LegendItem[] {
  return [
    { sign: "ramp", label: `${metric} at the end of an interval, worst to best by rank` },
    { sign: "note", label: "→ continues another trial, with changed parameters" },
  ];
}

function figureOf({ intervals, goal, metric }: Omit<Props, "sweepId">, size: Size): Figure {
  return {
    ...{ name: "lineage", title: "Lineage of the population", size: { ...size, width: Math.max(480, size.width) } },
    legend: legendOf(metric),
    draw: context => drawLineage(context, layoutOf(intervals, goal)),
    rows: () => tableOf(intervals, metric),
  };
}

function tableOf(intervals: readonly Interval[], metric: string): Rows {
  const names = [...new Set(intervals.flatMap(each => Object.keys(each.params)))];
  const rows = intervals.map(each => [
    ...[each.trial, each.interval, each.value, each.step, each.donor, each.donor_interval],
    ...names.map(name => (each.params[name] === undefined ? "" : formatExact(each.params[name]))),
  ]);
  return [["trial", "interval", metric, "step", "donor", "donor interval", ...names], ...rows];
}

function formatExact(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

function drawLineage(context: CanvasRenderingContext2D, layout: ReturnType<typeof layoutOf>): void {
  const { cells, arrows, trials, first, last } = layout;
  const colours = shades();
  context.font = `11px ${token("--font")}`;
  context.fillStyle = token("--text-2");
  context.textAlign = "center";
  for (let number = first; number <= last; number += 1)
    context.fillText(String(number), xOf(number, first) + CELL.width / 2, 11);
  context.textAlign = "right";
  for (const [row, { number }] of trials.entries())
    context.fillText(String(number), LABEL - 8, yOf(row) + CELL.height - 4);
  for (const { interval, row, share } of cells) {
    context.fillStyle = share === null ? token("--surface-3") : (colours[shadeOf(share)] as string);
    context.fillRect(xOf(interval, first), yOf(row), CELL.width, CELL.height);
  }
  for (const arrow of arrows) drawArrow(context, arrow, first);
}

function drawArrow(context: CanvasRenderingContext2D, { from, to }: { from: Place; to: Place }, first: number): void {
  const [x1, y1] = [xOf(from.interval, first) + CELL.width, yOf(from.row) + CELL.height / 2];
  const [x2, y2] = [xOf(to.interval, first), yOf(to.row) + CELL.height / 2];
  const angle = Math.atan2(y2 - y1, x2 - x1);
  context.strokeStyle = token("--series-2");
  context.lineWidth = 1.25;
  context.beginPath();
  context.moveTo(x1, y1);
  context.lineTo(x2, y2);
  for (const turn of [0.5, -0.5]) {
    context.moveTo(x2, y2);
    context.lineTo(x2 - 5 * Math.cos(angle + turn), y2 - 5 * Math.sin(angle + turn));
  }
  context.stroke();
}

type Place = { row: number; interval: number };
type Cell = Place & { trial: number; share: number | null; title: string };

/** Where cells and arrows are, and the rank of each value from 0, the worst, to 1. */
export function layoutOf(intervals: readonly Interval[], goal: "maximize" | "minimize") {
  const byTrial = new Map<number, number>();
  for (const each of intervals) byTrial.set(each.trial, each.trial_id);
  const trials = [...byTrial].sort(([a], [b]) => a - b).map(([number, id]) => ({ number, id }));
  const rows = new Map(trials.map(({ number }, row) => [number, row]));
  const numbers = intervals.map(each => each.interval);
  const last = Math.max(...numbers, 1);
  const shown = Math.max(1, Math.floor(MOST_CELLS / Math.max(trials.length, 1)));
  const first = Math.max(Math.min(...numbers, last), last - shown + 1);
  const values = intervals.flatMap(each => (each.value === null ? [] : [each.value])).sort((a, b) => a - b);
  const cells: Cell[] = [];
  const arrows: { from: Place; to: Place }[] = [];
  for (const each of intervals) {
    if (each.interval < first) continue;
    const place = { row: rows.get(each.trial) as number, interval: each.interval };
    cells.push({ ...place, trial: each.trial, share: shareOf(each.value, values, goal), title: titleOf(each) });
    const from = each.donor === null ? undefined : rows.get(each.donor);
    if (from !== undefined && each.donor_interval !== null && each.donor_interval >= first)
      arrows.push({ from: { row: from, interval: each.donor_interval }, to: place });
  }
  return { cells, arrows, trials, first, last };
}

function shareOf(value: number | null, sorted: readonly number[], goal: "maximize" | "minimize"): number | null {
  if (value === null) return null;
  const below = sorted.findIndex(each => each >= value);
  const share = sorted.length < 2 ? 1 : below / (sorted.length - 1);
  return goal === "maximize" ? share : 1 - share;
}

function titleOf(each: Interval): string {
  const lines = [`trial ${each.trial}, interval ${each.interval}`];
  lines.push(each.value === null ? "has not ended" : `${formatNumber(each.value)} at step ${each.step ?? "its end"}`);
  if (each.donor !== null) lines.push(`continues trial ${each.donor}, interval ${each.donor_interval}`);
  for (const [name, value] of Object.entries(each.params)) lines.push(`${name}: ${formatValue(value)}`);
  return lines.join("\n");
}

function summaryOf(intervals: readonly Interval[], trials: number): string {
  const donors = intervals.filter(each => each.donor !== null).length;
  return `${formatCount(trials)} trials, ${formatCount(intervals.length)} intervals, ${formatCount(donors)} of them continue another trial`;
}

function xOf(interval: number, first: number): number {
  return LABEL + (interval - first) * (CELL.width + CELL.gap);
}

function yOf(row: number): number {
  return TOP + row * (CELL.height + CELL.gap);
}
