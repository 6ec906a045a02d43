// A chart with two axes on a canvas. The item under the pointer, or chosen with arrow keys, is described in a tooltip.
import { type KeyboardEvent, type PointerEvent, type ReactNode, useCallback, useMemo, useRef, useState } from "react";
import { useCanvas, useSize } from "../auto-redraw-canvas";
import type { Axis } from "./axis";
import { PlotLabels } from "./axis-label-tooltips";
import { ExportMenu } from "./export";
import type { Figure, Rows } from "./export-file";
import { Legend, type LegendItem } from "./legend";
import { drawFrame, type Frame, frameIn, type Point } from "./plot-area-and-grid";
import "./plot.css";

export type PlotProps = {
  x: Axis;
  y: Axis;
  name: string; // of exported files
  title: string; // of exported pictures
  label: string; // what the chart shows, with its figures
  legend?: readonly LegendItem[];
  rows: () => Rows | Promise<Rows>; // the numbers it shows
  height?: number;
  draw: (context: CanvasRenderingContext2D, frame: Frame) => void; // memoize it by its data
  drawOver?: (context: CanvasRenderingContext2D, frame: Frame) => void; // the layer that changes with the pointer
  nearest: (at: Point, frame: Frame) => number | null; // the item under the pointer
  order: () => readonly number[]; // the order in which arrow keys visit the items; computed on a key press, not on every brush
  pointOf: (item: number, frame: Frame) => Point;
  describe: (item: number) => ReactNode;
  active: number | null;
  onActive: (item: number | null) => void;
  onOpen?: (item: number) => void;
};

const NO_LAYER = () => undefined;
const NO_LEGEND: readonly LegendItem[] = [];
const TIP = 210; // its approximate width

export function Plot(props: PlotProps) {
  const {
    x,
    y,
    label,
    legend = NO_LEGEND,
    height = 280,
    draw,
    drawOver = NO_LAYER,
    nearest,
    active,
    onActive,
    onOpen,
    describe,
    pointOf,
  } = props;
  const box = useRef<HTMLDivElement>(null);
  const { width } = useSize(box);
  const size = useMemo(() => ({ width, height }), [width, height]);
  const frame = useMemo(() => frameIn(size, y), [size, y]);
  const [isActive, setIsActive] = useState(false); // has the pointer or the focus: other charts highlight the same trial without a tooltip
  const drawAll = useCallback(
    (context: CanvasRenderingContext2D) => {
      drawFrame(context, frame, x, y);
      draw(context, frame);
    },
    [frame, x, y, draw],
  );
  const drawTop = useCallback((context: CanvasRenderingContext2D) => drawOver(context, frame), [frame, drawOver]);
  const base = useCanvas(drawAll, size);
  const top = useCanvas(drawTop, size);

  const under = (event: PointerEvent<HTMLDivElement>) => {
    const place = event.currentTarget.getBoundingClientRect();
    return nearest({ x: event.clientX - place.left, y: event.clientY - place.top }, frame);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    setIsActive(true);
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (step !== undefined) onActive(next(props.order(), active, step));
    else if (event.key === "Home") onActive(props.order()[0] ?? null);
    else if (event.key === "End") onActive(props.order().at(-1) ?? null);
    else if (event.key === "Escape") onActive(null);
    else if (event.key === "Enter" && active !== null) onOpen?.(active);
    else return;
    event.preventDefault();
  };
  const shown = active !== null && width > 0 ? pointOf(active, frame) : null;
  const isOnPlot = shown !== null && Number.isFinite(shown.x) && Number.isFinite(shown.y);
  return (
    <div className="plot-chart">
      {/* biome-ignore lint/a11y/useSemanticElements: a fieldset is for forms */}
      <div
        ref={box}
        className="plot"
        style={{ height }}
        role="group"
        aria-label={`${label} Use the arrow keys to step through it and Enter to open the trial.`}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: arrow keys step through the items
        tabIndex={0}
        onPointerEnter={() => setIsActive(true)}
        onPointerMove={event => event.pointerType === "mouse" && onActive(under(event))}
        onPointerLeave={event => {
          setIsActive(false);
          if (event.pointerType === "mouse") onActive(null);
        }}
        onFocus={event => setIsActive(event.currentTarget.matches(":focus-visible"))}
        onBlur={() => setIsActive(false)}
        onPointerUp={event => {
          const item = under(event);
          if (event.pointerType !== "mouse") onActive(item);
          else if (item !== null) onOpen?.(item);
        }}
        onKeyDown={onKeyDown}
        data-active={active ?? undefined}
      >
        <canvas ref={base} className="plot-canvas" role="img" aria-label={label} />
        <canvas ref={top} className="plot-canvas" />
        {width > 0 && <PlotLabels frame={frame} x={x} y={y} />}
        {isActive && isOnPlot && active !== null && (
          <div className="plot-tip" style={tipStyle(shown, size.width)}>
            {describe(active)}
          </div>
        )}
        <span className="hidden-text" aria-live="polite">
          {isActive && active !== null && describe(active)}
        </span>
      </div>
      <div className="plot-foot">
        {legend.length > 0 ? <Legend items={legend} /> : <span />}
        <ExportMenu name={props.title} figure={() => figureOf(props)} />
      </div>
    </div>
  );
}

function figureOf({ name, title, x, y, draw, legend, rows }: PlotProps): Figure {
  return {
    ...{ name, title, legend, rows },
    draw: (context, size) => {
      const frame = frameIn(size, y);
      drawFrame(context, frame, x, y);
      draw(context, frame);
    },
  };
}

function next(order: readonly number[], active: number | null, step: number): number | null {
  const at = active === null ? -1 : order.indexOf(active);
  if (at < 0) return order[step > 0 ? 0 : order.length - 1] ?? null;
  return order[Math.max(0, Math.min(order.length - 1, at + step))] ?? null;
}

function tipStyle(at: Point, width: number) {
  const left = at.x + TIP + 24 > width ? Math.max(0, at.x - TIP - 12) : at.x + 12;
  return { left, top: Math.max(0, at.y - 12), maxWidth: TIP };
}
