// The timeline of devices: trials and gaps; zoom by dragging or keys, or switch to a table.
import { useEffect, useMemo, useRef, useState } from "react";
import { useLocation } from "wouter";
import { useCanvas, useSize } from "../auto-redraw-canvas";
import { ExportMenu } from "../charts/export";
import { useConnection } from "../connection-status";
import { formatShare, formatTime } from "../format";
import { hover, useSelection } from "../selection";
import { trialHref } from "../trials/trial-references";
import { useNow } from "../use-now";
import { CutName } from "../widgets/cut-name";
import { part } from "../widgets/lazy-part";
import { Controls } from "./controls";
import { barsOf, type DeviceLine, gapsOf, type Segment } from "./device-bars-and-gaps";
import { AXIS, drawing, type Lane, segmentAt } from "./draw";
import { Legend } from "./legend";
import type { Fetched } from "./queries";
import { SegmentTable } from "./segment-table";
import { timelineFigure } from "./timeline-export";
import { Tooltip, type TooltipTarget } from "./tooltip";
import { useDebouncedSpan } from "./use-debounced-span";
import { clampSpan, type Span, zoomed } from "./visible-span";
import "./timeline.css";

const DeviceUsage = part(
  "the usage of devices",
  () => import("../usage/trial-usage-by-device").then(module => module.DeviceUsage),
  0,
);
const LIVE_S = 60; // a response up to this old counts as current
const LEAST_S = 60;
const YEAR_S = 365 * 86_400;
const NEAR_PX = 4;
const DRAG_PX = 6;

type Props = {
  fetched: Fetched;
  sweepId?: number;
  matching?: ReadonlySet<number> | null; // the trials that match a filter; others are muted
  span: Span | null; // the zoomed span; null: the whole span, or the last hour, moving
  onSpan: (span: Span | null) => void;
  asTable: boolean;
  onAsTable: (on: boolean) => void;
};

export function TimelineView({ fetched, sweepId, matching = null, asTable, onAsTable, ...at }: Props) {
  const { view, aheadS } = fetched;
  const [span, onSpan] = useDebouncedSpan(at.span, at.onSpan);
  const clock = useNow(!useConnection().lost) / 1000 + aheadS;
  const live = Math.abs(view.now_s - view.to_s) < 1 && clock - view.now_s < LIVE_S;
  const edge = live ? Math.max(clock, view.to_s) : view.to_s;
  const shown = span ?? { from: startOf(view, edge - (view.to_s - view.from_s), edge), to: edge };
  const limits = { from: clock - YEAR_S, to: Math.max(clock, shown.to) };
  const second = Math.floor(edge);
  // biome-ignore lint/correctness/useExhaustiveDependencies: running bars grow once a second
  const lanes = useMemo(() => view.devices.map(line => laneOf(line, view.to_s, edge)), [view, second]);
  return (
    <div className="timeline">
      <Controls span={shown} zoomedIn={span !== null} limits={limits} onSpan={onSpan} {...{ asTable, onAsTable }} />
      {asTable ? (
        <SegmentTable lanes={lanes} span={shown} names={view.sweeps} />
      ) : (
        <Chart {...{ view, lanes, shown, limits, sweepId, matching, onSpan }} />
      )}
      <div className="plot-foot">
        <Legend lanes={lanes} span={shown} sweepId={sweepId ?? null} matching={matching} />
        <ExportMenu
          name="timeline of devices"
          figure={() => timelineFigure(lanes, shown, view.sweeps, sweepId ?? null, matching)}
        />
      </div>
      {!asTable && <DeviceUsage devices={view.devices.map(({ id }) => id)} span={shown} live={live && span === null} />}
    </div>
  );
}

/** The start of the span: shortly before the first record. */
function startOf({ devices }: Fetched["view"], from: number, edge: number): number {
  const starts = devices.flatMap(({ bars, gaps }) => [bars.start_s[0] ?? edge, gaps.start_s[0] ?? edge]);
  return Math.max(from, Math.min(...starts, edge - LEAST_S));
}

function laneOf(line: DeviceLine, until: number, edge: number): Lane {
  return { id: line.id, bars: barsOf(line, edge), gaps: gapsOf(line, until, edge) };
}

type ChartProps = {
  view: Fetched["view"];
  lanes: Lane[];
  shown: Span;
  limits: Span;
  sweepId?: number;
  matching: ReadonlySet<number> | null;
  onSpan: (span: Span | null) => void;
};

function Chart({ view, lanes, shown, limits, sweepId, matching, onSpan }: ChartProps) {
  const frame = useRef<HTMLDivElement>(null);
  const { width } = useSize(frame);
  const lane = lanes.length > 16 ? 26 : 36;
  const height = lanes.length * lane + AXIS;
  const [tipped, setTipped] = useState<TooltipTarget | null>(null);
  const [dragged, setDragged] = useState<Span | null>(null);
  const dragStart = useRef<{ x: number; moved: boolean } | null>(null);
  const [, go] = useLocation();
  const { hovered } = useSelection(sweepId ?? 0);
  const lit = tipped?.piece.kind === "bar" ? tipped.piece.trialId : sweepId === undefined ? null : hovered;
  const draw = useMemo(
    () => drawing({ lanes, span: shown, lane, sweepId: sweepId ?? null, matching, lit, dragged }),
    [lanes, shown, lane, sweepId, matching, lit, dragged],
  );
  const canvas = useCanvas(draw, { width, height });
  useWheelZoom(frame, shown, limits, onSpan);
  useEffect(() => () => point(sweepId, null), [sweepId]);

  const timeAt = (x: number) => shown.from + (x / width) * (shown.to - shown.from);
  const place = (event: React.PointerEvent) => {
    const box = event.currentTarget.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };
  const find = (x: number, y: number): Segment | null => {
    const found = lanes[Math.floor(y / lane)];
    return found ? segmentAt(found, timeAt(x), (NEAR_PX / width) * (shown.to - shown.from)) : null;
  };
  const move = (event: React.PointerEvent) => {
    const { x, y } = place(event);
    const start = dragStart.current;
    if (start && (start.moved || Math.abs(x - start.x) > DRAG_PX)) {
      start.moved = true;
      setTipped(null);
      setDragged({ from: timeAt(Math.min(x, start.x)), to: timeAt(Math.max(x, start.x)) });
      return;
    }
    const piece = find(x, y);
    setTipped(piece && { piece, x, y, device: lanes[Math.floor(y / lane)]?.id ?? "", pinned: false });
    point(sweepId, piece);
  };
  const end = (event: React.PointerEvent) => {
    const { x, y } = place(event);
    const start = dragStart.current;
    dragStart.current = null;
    setDragged(null);
    if (!start) return;
    if (start.moved && dragged) return onSpan(clampSpan(dragged, limits));
    const piece = find(x, y);
    if (!piece) return;
    if (event.pointerType === "touch")
      setTipped({ piece, x, y, device: lanes[Math.floor(y / lane)]?.id ?? "", pinned: true });
    else open(piece);
  };
  const open = (piece: Segment) => {
    if (piece.kind === "bar" && piece.trialId !== null) go(trialHref(Number(piece.sweepId), piece.number));
    else {
      const around = (piece.end - piece.start) * 0.1;
      onSpan(clampSpan({ from: piece.start - around, to: piece.end + around }, limits));
    }
  };
  return (
    <div className="timeline-chart">
      <ul className="timeline-names" aria-hidden="true">
        {view.devices.map(line => (
          <li key={line.id} style={{ height: lane }}>
            <span className={line.present ? "timeline-name" : "timeline-name timeline-gone"}>
              <CutName name={line.id} />
            </span>
            <span className="timeline-share">{formatShare(line.busy_share, 0)}</span>
          </li>
        ))}
      </ul>
      <div ref={frame} className="timeline-frame" style={{ height }}>
        <canvas
          ref={canvas}
          role="img"
          aria-label={describeTimeline(view, shown)}
          className={tipped ? "timeline-canvas timeline-pointing" : "timeline-canvas"}
          onPointerDown={event => {
            if (event.pointerType === "touch") dragStart.current = { x: Number.NaN, moved: false };
            else if (event.button === 0) {
              dragStart.current = { x: place(event).x, moved: false };
              event.currentTarget.setPointerCapture(event.pointerId);
            }
          }}
          onPointerMove={event => event.pointerType !== "touch" && move(event)}
          onPointerUp={end}
          onPointerCancel={() => {
            dragStart.current = null;
            setDragged(null);
          }}
          onPointerLeave={event => {
            if (event.pointerType === "touch") return;
            setTipped(null);
            point(sweepId, null);
          }}
        />
        {tipped && (
          <Tooltip {...tipped} names={view.sweeps} width={width} onClose={() => setTipped(null)} onOpen={open} />
        )}
      </div>
    </div>
  );
}

/** The other views of the sweep highlight the same trial. */
function point(sweepId: number | undefined, piece: Segment | null): void {
  if (sweepId === undefined) return;
  hover(sweepId, piece?.kind === "bar" && piece.sweepId === sweepId ? piece.trialId : null);
}

/** Ctrl (or ⌘) with the wheel zooms at the pointer; the wheel alone scrolls the page. */
function useWheelZoom(
  frame: React.RefObject<HTMLDivElement | null>,
  shown: Span,
  limits: Span,
  onSpan: (span: Span) => void,
): void {
  const latest = useRef({ shown, limits, onSpan });
  useEffect(() => {
    latest.current = { shown, limits, onSpan };
  });
  useEffect(() => {
    const element = frame.current;
    if (!element) return;
    const zoom = (event: WheelEvent) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      const box = element.getBoundingClientRect();
      const now = latest.current;
      const around = now.shown.from + ((event.clientX - box.left) / box.width) * (now.shown.to - now.shown.from);
      now.onSpan(zoomed(now.shown, Math.exp(event.deltaY * 0.002), around, now.limits));
    };
    element.addEventListener("wheel", zoom, { passive: false });
    return () => element.removeEventListener("wheel", zoom);
  }, [frame]);
}

function describeTimeline({ devices }: Fetched["view"], { from, to }: Span): string {
  const each = devices.map(
    line => `${line.id} was busy ${formatShare(line.busy_share, 0)} of its available time with ${line.attempts} trials`,
  );
  const shown = each.slice(0, 8).join("; ");
  return `Timeline from ${formatTime(from)} to ${formatTime(to)}. ${shown}${each.length > 8 ? "; and more" : ""}. Also available as a table.`;
}
