// One metric over the steps of a trial; the charts of a group share the hovered step.
import { type PointerEvent, useCallback, useMemo, useRef, useSyncExternalStore } from "react";
import { useCanvas, useSize } from "../../canvas";
import { type Axis, numberAt, numberAxis, placeOn, withRoom } from "../../charts/axis";
import { nearestIndex } from "../../charts/curve-values";
import { clipped, drawFrame, type Frame, frameIn, xAt, yAt } from "../../charts/frame";
import { formatCount, formatNumber } from "../../format";
import { SERIES, token } from "../../theme";

const HEIGHT = 190;
const ROOM = 0.02; // at both ends of the steps: the first and the last point do not touch the frame
const FEW = 60; // points; with fewer, each one is marked

type PlotProps = {
  name: string;
  points: [number, number][];
  series: number;
  objective: boolean;
  logarithmic: boolean;
  group: string;
};

export function Plot({ name, points, series, objective, logarithmic, group }: PlotProps) {
  const box = useRef<HTMLDivElement>(null);
  const { width } = useSize(box);
  const size = useMemo(() => ({ width, height: HEIGHT }), [width]);
  const steps = useMemo(() => points.map(([step]) => step), [points]);
  const positive = points.every(([, value]) => value > 0);
  const log = logarithmic && positive;
  const { x, y } = useMemo(() => axesFor(points, log), [points, log]);
  const frame = useMemo(() => frameIn(size, y), [size, y]);
  const hoveredStep = useHoveredStep(group);
  const at = hoveredStep === null || steps.length === 0 ? null : nearestIndex(steps, hoveredStep);

  const line = useCanvas(
    useCallback(
      (context: CanvasRenderingContext2D) => {
        drawFrame(context, frame, x, y);
        context.strokeStyle = context.fillStyle = token(SERIES[series % SERIES.length] ?? "--accent");
        clipped(context, frame, () => drawLine(context, frame, x, y, points));
      },
      [frame, x, y, series, points],
    ),
    size,
  );
  const mark = useCanvas(
    useCallback(
      (context: CanvasRenderingContext2D) => {
        const setHoveredStep = at === null ? undefined : points[at];
        if (setHoveredStep) drawMark(context, frame, x, y, setHoveredStep);
      },
      [frame, x, y, points, at],
    ),
    size,
  );
  const onPointerMove = (event: PointerEvent<HTMLDivElement>) => {
    const left = event.clientX - event.currentTarget.getBoundingClientRect().left;
    setHoveredStep(group, numberAt(x, (left - frame.left) / frame.width));
  };
  const shown = (at === null ? undefined : points[at]) ?? points.at(-1);
  return (
    <figure className="curve">
      <figcaption>
        <span className="curve-name mono">{name}</span>
        {objective && <span className="curve-objective">objective</span>}
        {shown && (
          <span className="curve-value">
            {formatNumber(shown[1], 5)} <span className="trial-dim">at step {formatCount(shown[0])}</span>
          </span>
        )}
      </figcaption>
      <div
        ref={box}
        className="curve-box"
        role="img"
        aria-label={describeCurve(name, points)}
        onPointerMove={onPointerMove}
        onPointerLeave={() => setHoveredStep(group, null)}
      >
        <canvas ref={line} className="curve-canvas" />
        <canvas ref={mark} className="curve-canvas" />
      </div>
      {logarithmic && !positive && <p className="trial-dim">Some values are not positive, so the scale is linear.</p>}
    </figure>
  );
}

function axesFor(points: [number, number][], log: boolean): { x: Axis; y: Axis } {
  const ends = [points[0]?.[0] ?? 0, points.at(-1)?.[0] ?? 0];
  const values = points.map(([, value]) => value);
  const x = withRoom(numberAxis("step", "step", ends, { integer: true }), ROOM);
  return { x, y: { ...withRoom(numberAxis("value", "", values, { log })), name: "" } };
}

function drawLine(context: CanvasRenderingContext2D, frame: Frame, x: Axis, y: Axis, points: [number, number][]): void {
  const placed = points.map(([step, value]) => [xAt(frame, placeOn(x, step) ?? 0), yAt(frame, placeOn(y, value) ?? 0)]);
  context.lineWidth = 1.75;
  context.beginPath();
  for (const [px, py] of placed) context.lineTo(px as number, py as number);
  context.stroke();
  if (placed.length > FEW) return;
  context.beginPath();
  for (const [px, py] of placed) {
    context.moveTo((px as number) + 2.5, py as number);
    context.arc(px as number, py as number, 2.5, 0, 2 * Math.PI);
  }
  context.fill();
}

function drawMark(
  context: CanvasRenderingContext2D,
  frame: Frame,
  x: Axis,
  y: Axis,
  setHoveredStep: [number, number],
): void {
  const [px, py] = [xAt(frame, placeOn(x, setHoveredStep[0]) ?? 0), yAt(frame, placeOn(y, setHoveredStep[1]) ?? 0)];
  context.strokeStyle = token("--text-3");
  context.setLineDash([3, 3]);
  context.beginPath();
  context.moveTo(px, frame.top);
  context.lineTo(px, frame.top + frame.height);
  context.stroke();
  context.setLineDash([]);
  context.fillStyle = token("--text");
  context.beginPath();
  context.arc(px, py, 4, 0, 2 * Math.PI);
  context.fill();
}

/** The summary of a curve as a sentence. */
export function describeCurve(name: string, points: [number, number][]): string {
  const first = points[0];
  const last = points.at(-1);
  if (!first || !last) return `${name}: no points`;
  let low = first;
  let high = first;
  for (const setHoveredStep of points) {
    if (setHoveredStep[1] < low[1]) low = setHoveredStep;
    if (setHoveredStep[1] > high[1]) high = setHoveredStep;
  }
  const at = ([step, value]: [number, number]) => `${formatNumber(value)} at step ${step}`;
  return `${name}: ${at(first)}, ${at(last)}; lowest ${at(low)}, highest ${at(high)}`;
}

// The hovered step, by group of charts.
const steps = new Map<string, number>();
const listeners = new Set<() => void>();

function setHoveredStep(group: string, step: number | null): void {
  if (step === null) steps.delete(group);
  else steps.set(group, step);
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function useHoveredStep(group: string): number | null {
  return useSyncExternalStore(subscribe, () => steps.get(group) ?? null);
}
