// A small line chart of a few series; values can be read by pointer, arrow keys, and in text.
import { type KeyboardEvent, type PointerEvent, useCallback, useMemo, useRef, useState } from "react";
import { useCanvas, useSize } from "../auto-redraw-canvas";
import { numberAt } from "../charts/axis";
import { PlotLabels } from "../charts/axis-label-tooltips";
import { nearestIndex } from "../charts/curve-values";
import { ExportMenu } from "../charts/export";
import type { Figure } from "../charts/export-file";
import { frameIn } from "../charts/plot-area-and-grid";
import { formatNumber } from "../format";
import { axesOf, drawLineChart, type LineChart, type Range, type Series } from "./draw-line-chart";
import "./line-chart.css";

type ChartProps = Pick<LineChart, "diagonal" | "until"> & {
  name: string; // of exported files and pictures
  label: string; // a description for screen readers
  series: readonly Series[];
  xName: string;
  yName: string;
  height?: number;
  integer?: boolean; // x is an integer
  xRange?: Range;
  yRange?: Range;
  say?: (x: number) => string; // details of a position, for example which trial
};

export function Chart(props: ChartProps) {
  const { label, series, xName, yName, height = 240, integer, diagonal, say, until, xRange, yRange } = props;
  const box = useRef<HTMLDivElement>(null);
  const { width } = useSize(box);
  const size = useMemo(() => ({ width, height }), [width, height]);
  const [at, setAt] = useState<number | null>(null);
  const xs = useMemo(
    () => [...new Set(series.flatMap(one => one.points.map(([x]) => x)))].sort((a, b) => a - b),
    [series],
  );
  const chart = useMemo<LineChart>(() => {
    const axes = axesOf(series, { x: xName, y: yName }, { integer, xRange, yRange });
    return { series, ...axes, diagonal, until };
  }, [series, xName, yName, integer, xRange, yRange, diagonal, until]);
  const frame = useMemo(() => frameIn(size, chart.y), [size, chart.y]);
  const canvas = useCanvas(
    useCallback((context: CanvasRenderingContext2D) => drawLineChart(context, size, chart, at), [size, chart, at]),
    size,
  );
  const point = (event: PointerEvent<HTMLElement>) => {
    if (xs.length === 0) return;
    const left = event.clientX - event.currentTarget.getBoundingClientRect().left;
    setAt(xs[nearestIndex(xs, numberAt(chart.x, (left - frame.left) / frame.width))] ?? null);
  };
  const key = (event: KeyboardEvent) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step === undefined || xs.length === 0) return;
    event.preventDefault();
    const now = at === null ? (step > 0 ? -1 : xs.length) : xs.indexOf(at);
    setAt(xs[Math.max(0, Math.min(xs.length - 1, now + step))] ?? null);
  };
  return (
    <figure className="chart">
      <div ref={box} className="chart-box" style={{ height }}>
        {width > 0 && (
          <canvas
            ref={canvas}
            role="img"
            aria-label={`${label} Use the arrow keys to read the values.`}
            tabIndex={0}
            onPointerMove={point}
            onPointerLeave={() => setAt(null)}
            onBlur={() => setAt(null)}
            onKeyDown={key}
          />
        )}
        {width > 0 && <PlotLabels frame={frame} x={chart.x} y={chart.y} />}
      </div>
      <figcaption className="chart-legend">
        {series.map(one => (
          <span key={one.name} className={`chart-key chart-tone-${one.tone}`}>
            <span className={one.dashed ? "chart-swatch chart-swatch-dashed" : "chart-swatch"} aria-hidden="true" />
            {one.name}
            {at !== null && <strong>{readAt(one, at)}</strong>}
          </span>
        ))}
        <span className="chart-said" role="status">
          {at !== null && `${xName} ${formatNumber(at)}${say ? `: ${say(at)}` : ""}`}
        </span>
        <span className="chart-export">
          <ExportMenu name={props.name} figure={() => figureOf(props, chart)} />
        </span>
      </figcaption>
    </figure>
  );
}

function readAt(one: Series, at: number): string {
  const found = one.points.find(([x]) => x === at);
  return found ? formatNumber(found[1]) : "–";
}

function figureOf({ name, series, xName, yName, say }: ChartProps, chart: LineChart): Figure {
  const head = ["series", xName, yName, ...(say ? ["details"] : [])];
  const rows = series.flatMap(one => one.points.map(([x, y]) => [one.name, x, y, ...(say ? [say(x)] : [])]));
  return {
    name,
    title: `${yName} by ${xName.toLowerCase()}`,
    draw: (context, size) => drawLineChart(context, size, chart),
    legend: series.map(({ name, dashed, tone }) => ({
      ...{ sign: dashed ? ("dashed" as const) : ("line" as const), token: `--series-${tone}`, label: name },
    })),
    rows: () => [head, ...rows],
  };
}
