// One measure of an attempt over time, with its limit; the charts of a group share the pointer.
import { type PointerEvent, useCallback, useMemo, useRef } from "react";
import { useCanvas, useSize } from "../auto-redraw-canvas";
import { type Axis, numberAt, numberAxis, placeOn, withRoom } from "../charts/axis";
import { nearestIndex } from "../charts/curve-values";
import { ExportMenu } from "../charts/export";
import type { Figure } from "../charts/export-file";
import type { LegendItem } from "../charts/legend";
import { clipped, drawFrame, type Frame, frameIn, xAt, yAt } from "../charts/plot-area-and-grid";
import { formatDuration } from "../format";
import { SERIES, token } from "../theme";
import { describeMeasure, formatMeasure, type Measure, type Point } from "./measures";

const HEIGHT = 170;
const HEADROOM = 1.06; // above the highest value or the limit
const NEAR = 0.5; // of the limit: below, the limit would flatten the line, and is written instead

type Props = {
  measure: Measure;
  lines: Point[][];
  limit: number | null;
  killed: boolean; // at the limit
  hovered: number | null; // seconds
  onHover: (seconds: number | null) => void;
};

export function UsagePlot({ measure, lines, limit, killed, hovered, onHover }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const { width } = useSize(box);
  const size = useMemo(() => ({ width, height: HEIGHT }), [width]);
  const highest = Math.max(0, ...lines.flat().map(([, value]) => value));
  const drawn = limit !== null && (killed || highest > NEAR * limit) ? limit : null;
  const { x, y } = useMemo(() => axesOf(measure, lines, highest, drawn), [measure, lines, highest, drawn]);
  const frame = useMemo(() => frameIn(size, y), [size, y]);
  const line = useCanvas(
    useCallback(
      (context: CanvasRenderingContext2D) => {
        drawUsage(context, frame, { x, y, lines, limit: drawn, killed });
      },
      [frame, x, y, lines, drawn, killed],
    ),
    size,
  );
  const shown = lines.map(points => at(points, hovered));
  const mark = useCanvas(
    useCallback(
      (context: CanvasRenderingContext2D) => {
        if (hovered === null) return;
        for (const points of lines) {
          const point = at(points, hovered);
          if (point) drawMark(context, frame, x, y, point);
        }
      },
      [frame, x, y, lines, hovered],
    ),
    size,
  );
  const onPointerMove = (event: PointerEvent<HTMLDivElement>) => {
    const left = event.clientX - event.currentTarget.getBoundingClientRect().left;
    onHover(numberAt(x, (left - frame.left) / frame.width));
  };
  const time = shown.find(point => point !== undefined)?.[0];
  return (
    <figure className="usage">
      <figcaption>
        <span className="usage-name">{measure.name}</span>
        {limit !== null && <span className="usage-limit">limit {formatMeasure(limit, measure.unit)}</span>}
        <span className="usage-value">
          {measure.lines.map((each, index) => (
            <span key={each.key} className={measure.lines.length > 1 ? `usage-line usage-line-${index}` : undefined}>
              {measure.lines.length > 1 && `${each.name} `}
              {formatMeasure(shown[index]?.[1], measure.unit)}
            </span>
          ))}
          {time !== undefined && <span className="trial-dim"> at {formatDuration(time)}</span>}
        </span>
        <ExportMenu name={measure.name} figure={() => figureOf(measure, { x, y, lines, limit: drawn, killed })} />
      </figcaption>
      <div
        ref={box}
        className="usage-box"
        role="img"
        aria-label={describeMeasure(measure, lines, limit)}
        onPointerMove={onPointerMove}
        onPointerLeave={() => onHover(null)}
      >
        <canvas ref={line} className="usage-canvas" />
        <canvas ref={mark} className="usage-canvas" />
      </div>
    </figure>
  );
}

type Drawn = Pick<Props, "lines" | "limit" | "killed"> & { x: Axis; y: Axis };

function drawUsage(context: CanvasRenderingContext2D, frame: Frame, { x, y, lines, limit, killed }: Drawn): void {
  drawFrame(context, frame, x, y);
  clipped(context, frame, () => {
    lines.forEach((points, index) => {
      context.strokeStyle = context.fillStyle = token(SERIES[index] ?? "--accent");
      drawLine(context, frame, x, y, points);
    });
    if (limit !== null) drawLimit(context, frame, y, limit);
    const last = lines[0]?.at(-1);
    if (killed && last) drawCross(context, xAt(frame, placeOn(x, last[0]) ?? 0), yAt(frame, placeOn(y, last[1]) ?? 0));
  });
}

function figureOf(measure: Measure, drawn: Drawn): Figure {
  const head = ["line", "time (s)", `${measure.name} (${measure.unit})`];
  const named = measure.lines.map((line, index) => ({ ...line, points: drawn.lines[index] ?? [] }));
  const limit: LegendItem[] = drawn.limit === null ? [] : [{ sign: "dashed", token: "--failed", label: "limit" }];
  return {
    name: `usage-${measure.key}`,
    title: measure.name,
    size: { width: 900, height: 320 },
    legend: [
      ...named.map(({ name }, index) => ({ sign: "line" as const, token: SERIES[index] ?? "--accent", label: name })),
      ...limit,
    ],
    draw: (context, size) => drawUsage(context, frameIn(size, drawn.y), drawn),
    rows: () => [head, ...named.flatMap(({ name, points }) => points.map(([time, value]) => [name, time, value]))],
  };
}

function at(points: readonly Point[], seconds: number | null): Point | undefined {
  if (seconds === null || points.length === 0) return points.at(-1);
  return points[
    nearestIndex(
      points.map(([each]) => each),
      seconds,
    )
  ];
}

function axesOf(
  measure: Measure,
  lines: readonly Point[][],
  highest: number,
  limit: number | null,
): { x: Axis; y: Axis } {
  const last = Math.max(1, ...lines.map(points => points.at(-1)?.[0] ?? 0));
  const top = measure.unit === "%" ? 100 : Math.max(highest, limit ?? 0) * HEADROOM || 1;
  const unit = measure.unit === "MB" ? "megabytes" : undefined;
  return {
    x: withRoom(numberAxis("time", "time", [0, last], { unit: "duration" }), 0.02),
    y: withRoom(numberAxis("value", unit ? "" : measure.unit, [0, top], { unit }), 0.03),
  };
}

function drawLine(context: CanvasRenderingContext2D, frame: Frame, x: Axis, y: Axis, points: readonly Point[]): void {
  const placed = points.map(
    ([seconds, value]) => [xAt(frame, placeOn(x, seconds) ?? 0), yAt(frame, placeOn(y, value) ?? 0)] as const,
  );
  context.lineWidth = 1.75;
  context.beginPath();
  for (const [px, py] of placed) context.lineTo(px, py);
  context.stroke();
  const [only] = placed;
  if (placed.length === 1 && only) {
    context.beginPath();
    context.arc(only[0], only[1], 2.5, 0, 2 * Math.PI);
    context.fill();
  }
}

function drawLimit(context: CanvasRenderingContext2D, frame: Frame, y: Axis, limit: number): void {
  const height = Math.round(yAt(frame, placeOn(y, limit) ?? 0)) + 0.5;
  context.strokeStyle = token("--failed");
  context.lineWidth = 1.25;
  context.setLineDash([6, 4]);
  context.beginPath();
  context.moveTo(frame.left, height);
  context.lineTo(frame.left + frame.width, height);
  context.stroke();
  context.setLineDash([]);
}

function drawCross(context: CanvasRenderingContext2D, px: number, py: number): void {
  context.strokeStyle = token("--failed");
  context.lineWidth = 2.25;
  context.beginPath();
  context.moveTo(px - 5, py - 5);
  context.lineTo(px + 5, py + 5);
  context.moveTo(px + 5, py - 5);
  context.lineTo(px - 5, py + 5);
  context.stroke();
}

function drawMark(context: CanvasRenderingContext2D, frame: Frame, x: Axis, y: Axis, point: Point): void {
  context.fillStyle = token("--text");
  context.beginPath();
  context.arc(xAt(frame, placeOn(x, point[0]) ?? 0), yAt(frame, placeOn(y, point[1]) ?? 0), 3.5, 0, 2 * Math.PI);
  context.fill();
}
