// Parallel coordinates: every trial is a line over its parameters and results; brushes on the axes filter them.
import { type PointerEvent, useCallback, useMemo, useRef, useState } from "react";
import { useCanvas, useSize } from "../auto-redraw-canvas";
import { formatCount } from "../format";
import { type Axis, columnNameOf } from "./axis";
import { bestInside, type Ranking } from "./best-parallel-lines";
import { type Brush, type Brushes, countIn } from "./brush-filter-terms";
import { HOVER_TOKEN } from "./colour";
import { drawAxes } from "./draw-exported-parallel-axes";
import {
  axisX,
  BEST_TOKEN,
  drawBehind,
  drawBest,
  drawLines,
  drawOver,
  isAbsentOn,
  type Lines,
  lineAt,
  linesOf,
  MANY,
} from "./draw-parallel-lines";
import { ExportMenu } from "./export";
import type { Figure, Rows } from "./export-file";
import { Legend, type LegendItem } from "./legend";
import { ParallelAxis } from "./parallel-axis";
import { columnOf, type Points } from "./trial-columns";
import { trialRows } from "./trial-export-rows";
import { TrialTip } from "./trial-tooltip";
import { useLineLayers } from "./use-brushed-line-layers";
import { useBrushedRows } from "./use-brushed-rows";
import "./parallel.css";

export type ParallelProps = {
  points: Points; // including trials outside the brushes, which are drawn faint
  axes: readonly Axis[];
  shares: Float64Array; // rank of each row, 0 to 1; NaN if unknown
  ranking: Ranking;
  brushes: Brushes;
  active: number | null; // a row
  chosen: readonly number[]; // rows
  onBrushes: (brushes: Brushes, isDone: boolean) => void; // on every move of a brush; done: it was released
  onRest?: () => void; // the handles have lost the focus
  onActive: (row: number | null) => void;
  onOpen?: (row: number) => void;
  onOrder: (keys: string[]) => void;
  legend: readonly LegendItem[];
};

const HEIGHT = 400;
const WIDE = 120; // px between axes in a picture
const NARROWEST = 84; // px between axes; more axes scroll
const TIP = 210;
const NONE: readonly number[] = [];

export function Parallel(props: ParallelProps) {
  const { points, axes, shares, ranking, brushes, active, chosen, onBrushes, onRest, onActive, onOpen, onOrder } =
    props;
  const box = useRef<HTMLDivElement>(null);
  const { width: room } = useSize(box);
  const width = Math.max(room, axes.length * NARROWEST);
  const size = useMemo(() => ({ width: room > 0 ? width : 0, height: HEIGHT }), [room, width]);
  const lines = useMemo(() => linesOf(points, axes), [points, axes]);
  const inside = useBrushedRows(points, brushes);

  const isMany = lines.count > MANY;
  const best = useMemo(() => (isMany ? bestInside(ranking, inside) : NONE), [isMany, ranking, inside]);
  const legend = best.length > 0 ? [...props.legend, bestItem(best.length)] : props.legend;
  const { behind, front } = useLineLayers(lines, inside, shares, best, size);
  const over = useCanvas(
    useCallback(
      (context, size) => {
        drawOver(context, size, lines, chosen, "--accent");
        if (active !== null) drawOver(context, size, lines, [active], HOVER_TOKEN);
      },
      [lines, chosen, active],
    ),
    size,
  );

  const set = (key: string, brush: Brush | null, isDone: boolean) => {
    const { [key]: _, ...others } = brushes;
    onBrushes(brush ? { ...others, [key]: brush } : others, isDone);
  };
  const move = (index: number, by: number) => {
    const keys = axes.map(axis => axis.key);
    const to = index + by;
    if (to < 0 || to >= keys.length) return;
    [keys[index], keys[to]] = [keys[to] as string, keys[index] as string];
    onOrder(keys);
  };
  const [at, setAt] = useState({ x: 0, y: 0 });
  const [isActive, setIsActive] = useState(false);
  const onPointerMove = (event: PointerEvent<HTMLDivElement>) => {
    const place = event.currentTarget.getBoundingClientRect();
    const [x, y] = [event.clientX - place.left, event.clientY - place.top];
    const row = event.buttons === 0 ? lineAt(x, y, size, lines, inside) : null;
    if (row !== null) setAt({ x, y });
    onActive(row);
  };
  const count = countIn(inside);
  const gap = axes.length > 1 ? axisX(1, axes.length, width) - axisX(0, axes.length, width) : width;
  const label = `Parallel coordinates of ${formatCount(lines.count)} trials over ${axes.map(axis => axis.name).join(", ")}.`;
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: arrow keys scroll it if it is wider than the page */}
      <section ref={box} className="parallel" aria-label={label} tabIndex={0} onBlur={onRest}>
        {/* biome-ignore lint/a11y/noStaticElementInteractions: only for the pointer; the table is the keyboard alternative */}
        {/* biome-ignore lint/a11y/useKeyWithClickEvents: only for the pointer; the table is the keyboard alternative */}
        <div
          className="parallel-inner"
          style={{ width: room > 0 ? width : "100%", height: HEIGHT }}
          onPointerMove={onPointerMove}
          onPointerEnter={() => setIsActive(true)}
          onPointerLeave={() => {
            setIsActive(false);
            onActive(null);
          }}
          onClick={event => active !== null && event.target instanceof HTMLCanvasElement && onOpen?.(active)}
        >
          <canvas ref={behind} className="plot-canvas" />
          <canvas
            ref={front}
            className="plot-canvas"
            role="img"
            aria-label={`${label} ${formatCount(count)} selected by the brushes.`}
          />
          <canvas ref={over} className="plot-canvas" />
          {room > 0 &&
            axes.map((axis, index) => (
              <ParallelAxis
                key={axis.key}
                axis={axis}
                x={axisX(index, axes.length, width)}
                gap={gap}
                room={2 * Math.min(axisX(index, axes.length, width), width - axisX(index, axes.length, width))}
                last={index === axes.length - 1}
                absent={isAbsentOn(lines, index)}
                height={HEIGHT}
                brush={brushes[axis.key]}
                onBrush={(brush, isDone) => set(axis.key, brush, isDone)}
                onMove={by => move(index, by)}
              />
            ))}
          {active !== null && isActive && (
            <div
              className="plot-tip"
              style={{ left: at.x + TIP + 24 > width ? at.x - TIP - 12 : at.x + 14, top: at.y, width: TIP }}
            >
              <TrialTip points={points} row={active} axes={axes} />
            </div>
          )}
        </div>
        <p className="parallel-count" aria-live="polite">
          {formatCount(count)} of {formatCount(lines.count)} trials
        </p>
      </section>
      <div className="plot-foot">
        <Legend items={legend} />
        <ExportMenu name="parallel coordinates" figure={() => figureOf({ ...props, legend }, lines, inside, best)} />
      </div>
    </>
  );
}

function bestItem(count: number): LegendItem {
  return { sign: "line", token: BEST_TOKEN, label: `the ${count} best` };
}

function figureOf(
  { points, axes, shares, brushes, legend }: ParallelProps,
  lines: Lines,
  inside: Uint8Array,
  best: readonly number[],
): Figure {
  return {
    name: "parallel-coordinates",
    title: "Parallel coordinates",
    size: { width: Math.max(900, axes.length * WIDE), height: HEIGHT },
    legend,
    draw: (context, size) => {
      drawBehind(context, size, lines, inside);
      drawLines(context, size, lines, inside, shares);
      drawBest(context, size, lines, best);
      drawAxes(context, size, axes, brushes);
    },
    rows: () => tableOf(points, axes, inside),
  };
}

function tableOf(points: Points, axes: readonly Axis[], inside: Uint8Array): Promise<Rows> {
  const columns = axes.map(
    axis => [columnNameOf(axis), (row: number, exact: Points) => columnOf(exact, axis.key)[row]] as const,
  );
  const rows = columnOf(points, "id").map((_, row) => row);
  return trialRows(points, rows, { ...Object.fromEntries(columns), "inside the brushes": row => inside[row] === 1 });
}
