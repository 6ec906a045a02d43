// One chart of the grid: the line under the pointer is described, a drag zooms all charts, and keys do both.
import { type KeyboardEvent, type PointerEvent, useCallback, useMemo, useRef, useState } from "react";
import { useCanvas, useSize } from "../auto-redraw-canvas";
import { numberAt } from "../charts/axis";
import { nearestIndex } from "../charts/curve-values";
import { type Frame, frameIn, type Point } from "../charts/plot-area-and-grid";
import { formatCount, formatDuration, formatNumber, formatTime } from "../format";
import { describeLayer, type Layer, type Line } from "./chart-scene";
import { setCursor, useCursor } from "./cursor";
import { drawActive, drawCursor, drawLayer, scalesOf } from "./draw-layer";
import type { Range } from "./settings";

export type CurvePlotProps = {
  name: string;
  layer: Layer;
  xKind: string; // step, time, runtime or metric:NAME
  height: number;
  hovered: number | null; // a trial id
  onHover: (trialId: number | null) => void;
  onOpen?: (number: number) => void; // of the trial
  onRange: (range: Range | null) => void;
};

type Active = { line: number; at: number };

const NEAR = 26; // px
const DRAG = 6; // px; a shorter drag is a click
const TIP = 220;
const ZOOM = 2;
const HINT = "Arrow keys follow a line and change it, plus and minus zoom, 0 resets the zoom, Enter opens the trial.";

export function CurvePlot({ name, layer, xKind, height, hovered, onHover, onOpen, onRange }: CurvePlotProps) {
  const box = useRef<HTMLDivElement>(null);
  const { width } = useSize(box);
  const size = useMemo(() => ({ width, height }), [width, height]);
  const frame = useMemo(() => frameIn(size, layer.y), [size, layer.y]);
  const [active, setActive] = useState<Active | null>(null); // under the pointer, or chosen by keys
  const [drag, setDrag] = useState<{ from: number; to: number } | null>(null); // px
  const cursor = useCursor();
  const elsewhere = useMemo(
    () => (hovered === null ? -1 : layer.lines.findIndex(({ trialId }) => trialId === hovered)),
    [layer, hovered],
  );
  const own = active && layer.lines[active.line] ? active : null;
  const marked = own?.line ?? (elsewhere >= 0 ? elsewhere : null);

  const base = useCanvas(
    useCallback((context: CanvasRenderingContext2D) => drawLayer(context, frame, layer), [frame, layer]),
    size,
  );
  const top = useCanvas(
    useCallback(
      (context: CanvasRenderingContext2D) => {
        if (cursor !== null) drawCursor(context, frame, layer, cursor);
        const line = marked === null ? undefined : layer.lines[marked];
        if (line) drawActive(context, frame, layer, line, own ? own.at : null);
      },
      [frame, layer, marked, own, cursor],
    ),
    size,
  );

  const choose = (next: Active | null) => {
    setActive(next);
    const line = next === null ? undefined : layer.lines[next.line];
    onHover(line?.trialId ?? null);
    if (line && next) setCursor(line.x[next.at] ?? null);
  };
  const leave = () => {
    setActive(null);
    setDrag(null);
    setCursor(null);
    onHover(null);
  };
  const placeAt = (px: number) => numberAt(layer.x, Math.max(0, Math.min(1, (px - frame.left) / frame.width)));
  const onPointerMove = (event: PointerEvent<HTMLDivElement>) => {
    const point = pointIn(event);
    if (drag) setDrag({ ...drag, to: point.x });
    const found = nearest(layer, frame, point);
    if (found?.line !== own?.line || found?.at !== own?.at) choose(found);
    setCursor(placeAt(point.x));
  };
  const onPointerUp = (event: PointerEvent<HTMLDivElement>) => {
    const from = drag?.from;
    setDrag(null);
    if (from === undefined) return;
    const to = pointIn(event).x;
    if (Math.abs(to - from) > DRAG) onRange({ from: placeAt(Math.min(from, to)), to: placeAt(Math.max(from, to)) });
    else open(own);
  };
  const open = (target: Active | null) => {
    const number = target === null ? null : layer.lines[target.line]?.number;
    if (number !== null && number !== undefined) onOpen?.(number);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Enter") open(own);
    else if (event.key === "0") onRange(null);
    else if (event.key === "Escape") leave();
    else if (event.key === "+" || event.key === "=") zoom(1 / ZOOM);
    else if (event.key === "-") zoom(ZOOM);
    else {
      const next = moved(layer, own, event.key);
      if (next === undefined) return;
      choose(next);
    }
    event.preventDefault();
    event.stopPropagation();
  };
  const zoom = (factor: number) => {
    const line = own ? layer.lines[own.line] : undefined;
    const middle = line && own ? (line.x[own.at] as number) : numberAt(layer.x, 0.5);
    const share = placeShare(layer, middle);
    const [from, to] = [numberAt(layer.x, share - factor * share), numberAt(layer.x, share + factor * (1 - share))];
    if (to > from) onRange({ from, to });
  };

  const line = own ? layer.lines[own.line] : undefined;
  const tip = line && own ? <Tip line={line} at={own.at} name={name} xKind={xKind} xName={layer.x.name} /> : null;
  const at = line && own ? pointOf(layer, frame, line, own.at) : null;
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for forms
    <div
      ref={box}
      className="plot curve-plot"
      style={{ height }}
      role="group"
      aria-label={`${describeLayer(name, layer)} ${HINT}`}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: keys follow the lines
      tabIndex={0}
      onPointerDown={event => {
        if (event.button !== 0 || event.pointerType !== "mouse") return;
        const { x } = pointIn(event);
        setDrag({ from: x, to: x });
        event.currentTarget.setPointerCapture?.(event.pointerId);
      }}
      onPointerMove={onPointerMove}
      onPointerUp={onPointerUp}
      onPointerLeave={event => event.pointerType === "mouse" && leave()}
      onBlur={leave}
      onKeyDown={onKeyDown}
    >
      <canvas ref={base} className="plot-canvas" role="img" aria-label={describeLayer(name, layer)} />
      <canvas ref={top} className="plot-canvas" />
      {drag && Math.abs(drag.to - drag.from) > DRAG && <Selection frame={frame} drag={drag} />}
      {tip && at && width > 0 && (
        <div className="plot-tip" style={tipStyle(at, width)}>
          {tip}
        </div>
      )}
      <span className="hidden-text" aria-live="polite">
        {tip}
      </span>
    </div>
  );
}

function Selection({ frame, drag }: { frame: Frame; drag: { from: number; to: number } }) {
  const left = Math.max(frame.left, Math.min(drag.from, drag.to));
  const right = Math.min(frame.left + frame.width, Math.max(drag.from, drag.to));
  return (
    <div
      className="curve-selection"
      style={{ left, top: frame.top, width: Math.max(0, right - left), height: frame.height }}
    />
  );
}

type TipProps = { line: Line; at: number; name: string; xKind: string; xName: string };

function Tip({ line, at, name, xKind, xName }: TipProps) {
  const { band, raw } = line;
  const rows: [string, string][] = [[xName, placeText(line.x[at] as number, xKind)]];
  if (band) {
    rows.push(["mean", formatNumber((raw ?? line.y)[at], 5)]);
    rows.push(["minimum", formatNumber(band.low[at], 5)], ["maximum", formatNumber(band.high[at], 5)]);
    rows.push(["trials here", formatCount(band.curves[at])]);
  } else rows.push([name, formatNumber((raw ?? line.y)[at], 5)]);
  if (raw) rows.push(["smoothed", formatNumber(line.y[at], 5)]);
  return (
    <>
      <b>{line.label}</b>
      <dl>{rows.map(([term, text]) => [<dt key={term}>{term}</dt>, <dd key={`${term}-value`}>{text}</dd>])}</dl>
    </>
  );
}

export function placeText(x: number, kind: string): string {
  if (kind === "time") return formatTime(x);
  return kind === "runtime" ? formatDuration(x) : formatNumber(x, 6);
}

function pointIn(event: PointerEvent<HTMLDivElement>): Point {
  const place = event.currentTarget.getBoundingClientRect();
  return { x: event.clientX - place.left, y: event.clientY - place.top };
}

function pointOf(layer: Layer, frame: Frame, line: Line, at: number): Point {
  const { x, y } = scalesOf(layer, frame);
  const point = { x: x(line.x[at] as number), y: y(line.y[at] as number) };
  return { x: point.x, y: Math.max(frame.top, Math.min(frame.top + frame.height, point.y)) };
}

/** The line near the pointer, and its point. */
function nearest(layer: Layer, frame: Frame, from: Point): Active | null {
  const { x, y } = scalesOf(layer, frame);
  const place = numberAt(layer.x, (from.x - frame.left) / frame.width);
  let [found, least]: [Active | null, number] = [null, NEAR];
  layer.lines.forEach((line, index) => {
    const at = indexNear(line.x, place);
    const distance = Math.hypot((x(line.x[at] as number) - from.x) / 3, y(line.y[at] as number) - from.y);
    if (distance < least) [found, least] = [{ line: index, at }, distance];
  });
  return found;
}

/** The index of the value nearest to a place; by another metric, x may also decrease. */
function indexNear(values: readonly number[], place: number): number {
  const last = values.length - 1;
  if ((values[0] as number) <= place && place <= (values[last] as number)) return nearestIndex(values, place);
  let best = 0;
  for (let at = 1; at <= last; at += 1)
    if (Math.abs((values[at] as number) - place) < Math.abs((values[best] as number) - place)) best = at;
  return best;
}

/** Where a key leads; undefined for a key without a meaning. */
function moved(layer: Layer, active: Active | null, key: string): Active | null | undefined {
  const keys = ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End"];
  if (!keys.includes(key)) return undefined;
  const first = layer.lines[0];
  if (!first) return null;
  if (active === null) return { line: 0, at: key === "ArrowLeft" || key === "End" ? first.x.length - 1 : 0 };
  const line = layer.lines[active.line] as Line;
  if (key === "Home") return { ...active, at: 0 };
  if (key === "End") return { ...active, at: line.x.length - 1 };
  if (key === "ArrowLeft") return { ...active, at: Math.max(0, active.at - 1) };
  if (key === "ArrowRight") return { ...active, at: Math.min(line.x.length - 1, active.at + 1) };
  const index = Math.max(0, Math.min(layer.lines.length - 1, active.line + (key === "ArrowDown" ? 1 : -1)));
  return { line: index, at: indexNear((layer.lines[index] as Line).x, line.x[active.at] as number) };
}

function placeShare({ x }: Layer, value: number): number {
  const share = x.log ? Math.log(value / x.low) / Math.log(x.high / x.low) : (value - x.low) / (x.high - x.low);
  return Number.isFinite(share) ? Math.max(0, Math.min(1, share)) : 0.5;
}

function tipStyle(at: Point, width: number) {
  const left = at.x + TIP + 24 > width ? Math.max(0, at.x - TIP - 12) : at.x + 12;
  return { left, top: Math.max(0, at.y - 12), maxWidth: TIP };
}
