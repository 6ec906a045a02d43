// A small line chart of a few series; values can be read by pointer, arrow keys, and in text.
import { type KeyboardEvent, type PointerEvent, useMemo, useRef, useState } from "react";
import { useSize } from "../canvas";
import { formatNumber } from "../format";
import { nearest, scale, ticks } from "./linear-scale";
import "./line-chart.css";

export type Series = {
  name: string;
  tone: number; // of the --series tokens
  points: readonly (readonly [number, number])[];
  dashed?: boolean;
  dots?: boolean;
};

type ChartProps = {
  label: string; // a description for screen readers
  series: readonly Series[];
  xName: string;
  yName: string;
  height?: number;
  integer?: boolean; // x is an integer
  diagonal?: boolean; // the diagonal y = x, for comparison
  xRange?: readonly [number, number];
  yRange?: readonly [number, number];
  until?: { x: number; name: string }; // a vertical line, for example where the selection stopped
  say?: (x: number) => string; // details of a position, for example which trial
};

const LEFT = 54;
const RIGHT = 12;
const TOP = 18;
const BOTTOM = 38;

export function Chart({
  label,
  series,
  xName,
  yName,
  height = 240,
  integer,
  diagonal,
  say,
  until,
  ...fixed
}: ChartProps) {
  const box = useRef<HTMLDivElement>(null);
  const { width } = useSize(box);
  const [at, setAt] = useState<number | null>(null);
  const xs = useMemo(
    () => [...new Set(series.flatMap(one => one.points.map(([x]) => x)))].sort((a, b) => a - b),
    [series],
  );
  const x = scale(fixed.xRange ?? range(xs), LEFT, Math.max(LEFT + 1, width - RIGHT));
  const ys = series.flatMap(one => one.points.map(([, y]) => y));
  const y = scale(fixed.yRange ?? padded(range(ys)), height - BOTTOM, TOP);
  const point = (event: PointerEvent<SVGSVGElement>) => {
    const left = event.currentTarget.getBoundingClientRect().left;
    setAt(nearest(xs, x.back(event.clientX - left)));
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
          <svg
            role="img"
            aria-label={`${label} Use the arrow keys to read the values.`}
            // biome-ignore lint/a11y/noNoninteractiveTabindex: arrow keys read its values
            tabIndex={0}
            width={width}
            height={height}
            onPointerMove={point}
            onPointerLeave={() => setAt(null)}
            onBlur={() => setAt(null)}
            onKeyDown={key}
          >
            {ticks(y.range, 4).map(tick => (
              <g key={tick} className="chart-grid">
                <line x1={LEFT} x2={width - RIGHT} y1={y.to(tick)} y2={y.to(tick)} />
                <text x={LEFT - 8} y={y.to(tick)} dy="0.32em" textAnchor="end">
                  {formatNumber(tick)}
                </text>
              </g>
            ))}
            {ticks(x.range, width < 420 ? 4 : 8, integer).map(tick => (
              <text key={tick} className="chart-tick" x={x.to(tick)} y={height - BOTTOM + 16} textAnchor="middle">
                {formatNumber(tick)}
              </text>
            ))}
            <text className="chart-name" x={(LEFT + width - RIGHT) / 2} y={height - 5} textAnchor="middle">
              {xName}
            </text>
            {diagonal && (
              <line
                className="chart-diagonal"
                x1={x.to(x.range[0])}
                y1={y.to(x.range[0])}
                x2={x.to(x.range[1])}
                y2={y.to(x.range[1])}
              />
            )}
            {until && (
              <g className="chart-until">
                <line x1={x.to(until.x)} x2={x.to(until.x)} y1={TOP} y2={height - BOTTOM} />
                <text
                  x={x.to(until.x) + (until.x > mid(x.range) ? -5 : 5)}
                  y={TOP - 6}
                  textAnchor={until.x > mid(x.range) ? "end" : "start"}
                >
                  {until.name}
                </text>
              </g>
            )}
            {series.map(one => (
              <g key={one.name} className={`chart-series chart-tone-${one.tone}`}>
                <path d={line(one.points, x.to, y.to)} className={one.dashed ? "chart-dashed" : undefined} />
                {(one.dots || one.points.length === 1) &&
                  one.points.map(([px, py]) => <circle key={px} cx={x.to(px)} cy={y.to(py)} r={3} />)}
                {at !== null &&
                  one.points
                    .filter(([px]) => px === at)
                    .map(([px, py]) => <circle key="at" cx={x.to(px)} cy={y.to(py)} r={5} className="chart-here" />)}
              </g>
            ))}
          </svg>
        )}
      </div>
      <figcaption className="chart-legend">
        <span className="chart-y">{yName}</span>
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
      </figcaption>
    </figure>
  );
}

function readAt(one: Series, at: number): string {
  const found = one.points.find(([x]) => x === at);
  return found ? formatNumber(found[1]) : "–";
}

function line(points: Series["points"], x: (v: number) => number, y: (v: number) => number): string {
  return points.map(([px, py], index) => `${index ? "L" : "M"}${x(px).toFixed(1)} ${y(py).toFixed(1)}`).join("");
}

function range(values: readonly number[]): [number, number] {
  return values.length ? [Math.min(...values), Math.max(...values)] : [0, 1];
}

function padded([low, high]: readonly [number, number]): [number, number] {
  const room = (high - low || Math.abs(high) || 1) * 0.06;
  return [low - room, high + room];
}

function mid([low, high]: readonly [number, number]): number {
  return (low + high) / 2;
}
