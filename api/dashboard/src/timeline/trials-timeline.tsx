// The timeline by trial: all trials at once, or rows to scroll through; each attempt is described and opens its trial.
import { type KeyboardEvent, type PointerEvent, useCallback, useEffect, useMemo, useRef, useState } from "react";
import { Link, useLocation } from "wouter";
import { useCanvas, useSize } from "../auto-redraw-canvas";
import { ExportMenu } from "../charts/export";
import { Legend } from "../charts/legend";
import { formatCount } from "../format";
import { hover, useSelection } from "../selection";
import { trialHref } from "../trials/trial-references";
import { Button } from "../widgets/button";
import { type Attempt, attemptsIn, describe, nearestAttempt, rowCount, spanOf } from "./attempts";
import { AXIS, drawAttempts, GUTTER, rowsIn, xOf } from "./draw-attempts";
import { attemptLegend, trialTimelineFigure } from "./trials-timeline-export";
import "../charts/plot.css";
import "./trials-timeline.css";

const [HEIGHT, READABLE, HIGHEST] = [460, 18, 26]; // px: of the chart, and of rows
const [NEAR, TIP] = [3, 250]; // px

type Props = {
  attempts: readonly Attempt[];
  sweepId: number;
  now: number; // seconds since the epoch
  asRows: boolean; // scroll through readable rows; otherwise all trials at once
  onAsRows: (on: boolean) => void;
};

export function TrialTimelineChart({ attempts, sweepId, now, asRows, onAsRows }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const { width } = useSize(box);
  const rows = rowCount(attempts);
  const isLong = rows * READABLE > HEIGHT;
  const row = isLong && !asRows ? HEIGHT / rows : Math.max(READABLE, Math.min(HIGHEST, HEIGHT / Math.max(1, rows)));
  const inner = Math.max(rows * row, 1);
  const height = Math.min(HEIGHT, Math.ceil(inner)) + AXIS;
  const [top, setTop] = useState(0);
  const [index, setIndex] = useState<number | null>(null); // of the active attempt
  const [isPointed, setPointed] = useState(false);
  const [, go] = useLocation();
  const { hovered } = useSelection(sweepId);
  const view = { rows, row, top: Math.min(top, Math.max(0, inner - (height - AXIS))) };
  const inView = rowsIn(view, height - AXIS);
  const span = useMemo(
    () => spanOf(attemptsIn(attempts, inView.first, inView.last), now),
    [attempts, inView.first, inView.last, now],
  );
  const active = index === null ? null : (attempts[index] ?? null);
  const size = useMemo(() => ({ width, height }), [width, height]);
  const lit = active?.trialId ?? hovered;
  const canvas = useCanvas(
    useCallback(
      (context: CanvasRenderingContext2D) =>
        drawAttempts(context, size, { attempts, rows, row, top: view.top, span, now, lit, active }),
      [size, attempts, rows, row, view.top, span, now, lit, active],
    ),
    size,
  );
  useEffect(() => () => hover(sweepId, null), [sweepId]);

  const choose = (next: number | null) => {
    setIndex(next);
    hover(sweepId, next === null ? null : (attempts[next]?.trialId ?? null));
  };
  const under = (event: PointerEvent<HTMLElement>): number | null => {
    const place = event.currentTarget.getBoundingClientRect();
    const [x, y] = [event.clientX - place.left, event.clientY - place.top];
    if (y > height - AXIS) return null;
    const time = span.from + ((x - GUTTER) / Math.max(1, width - GUTTER)) * (span.to - span.from);
    const near = row >= NEAR ? 0 : NEAR;
    const range = rowsIn({ rows, row, top: view.top + y - near }, 2 * near + 0.01);
    const found = nearestAttempt(attempts, range, time, now);
    return found < 0 ? null : found;
  };
  const open = (target: Attempt | null) => target && go(trialHref(sweepId, target.number));
  const onKeyDown = (event: KeyboardEvent) => {
    const page = Math.max(1, Math.floor((height - AXIS) / Math.max(row, 1)));
    const next = moved(attempts, index, event.key, page);
    if (event.key === "Enter") open(active);
    else if (event.key === "Escape") choose(null);
    else if (next === undefined) return;
    else {
      choose(next);
      if (next !== null) scrollTo(box.current, (attempts[next] as Attempt).row, row, height - AXIS);
    }
    event.preventDefault();
    event.stopPropagation();
  };
  const said = active && describe(active, now);
  return (
    <div className="trial-timeline">
      {isLong && (
        <div className="trial-timeline-modes">
          <Button small aria-pressed={!asRows} onClick={() => onAsRows(false)}>
            All {formatCount(rows)} trials
          </Button>
          <Button small aria-pressed={asRows} onClick={() => onAsRows(true)}>
            Rows
          </Button>
        </div>
      )}
      {/* biome-ignore lint/a11y/useSemanticElements: a fieldset is for forms */}
      <div
        ref={box}
        className="trial-timeline-box"
        style={{ height }}
        role="group"
        aria-label={`${summaryOf(attempts, rows)} Use the arrow keys to step through the attempts and Enter to open the trial.`}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: arrow keys step through the attempts
        tabIndex={0}
        onScroll={event => setTop(event.currentTarget.scrollTop)}
        onKeyDown={onKeyDown}
        onBlur={() => setPointed(false)}
      >
        <div style={{ height: inner + AXIS }}>
          <div className="trial-timeline-view" style={{ height }}>
            <canvas
              ref={canvas}
              role="img"
              aria-label={summaryOf(attempts, rows)}
              onPointerMove={event => {
                if (event.pointerType !== "mouse") return;
                setPointed(true);
                choose(under(event));
              }}
              onPointerLeave={event => {
                if (event.pointerType !== "mouse") return;
                setPointed(false);
                choose(null);
              }}
              onClick={event => {
                const isTouch = (event.nativeEvent as globalThis.PointerEvent).pointerType === "touch";
                const found = under(event as unknown as PointerEvent<HTMLElement>);
                if (isTouch) choose(found);
                else open(found === null ? null : (attempts[found] ?? null));
              }}
            />
            {isPointed && active && said && (
              <div className="plot-tip" style={tipStyle(active, { span, width, row, top: view.top, height })}>
                <b>{said.title}</b>
                {said.details}
              </div>
            )}
          </div>
        </div>
      </div>
      <p className="trial-timeline-said" aria-live="polite">
        {active && said ? (
          <>
            <Link href={trialHref(sweepId, active.number)}>{said.title}</Link> {said.details}
          </>
        ) : (
          "Point at a bar, or press the arrow keys, to read its times."
        )}
      </p>
      <div className="plot-foot">
        <Legend items={attemptLegend(attempts)} label="Legend" />
        <ExportMenu name="timeline by trial" figure={() => trialTimelineFigure(attempts, now)} />
      </div>
    </div>
  );
}

/** The attempt that a key leads to; undefined if it has no meaning. */
export function moved(
  attempts: readonly Attempt[],
  index: number | null,
  key: string,
  page: number,
): number | null | undefined {
  const last = attempts.length - 1;
  if (last < 0) return ["ArrowUp", "ArrowDown", "Home", "End"].includes(key) ? null : undefined;
  if (key === "Home") return 0;
  if (key === "End") return last;
  if (key === "ArrowLeft" || key === "ArrowRight") return stepTo(index, key === "ArrowRight" ? 1 : -1, last);
  const by = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page }[key];
  if (by === undefined) return undefined;
  if (index === null) return by > 0 ? 0 : last;
  const rows = rowCount(attempts);
  const row = Math.max(0, Math.min(rows - 1, (attempts[index] as Attempt).row + by));
  return attempts.indexOf(attemptsIn(attempts, row, row + 1)[0] as Attempt);
}

function stepTo(index: number | null, by: number, last: number): number {
  if (index === null) return by > 0 ? 0 : last;
  return Math.max(0, Math.min(last, index + by));
}

/** Scrolls so that the row is in view. */
function scrollTo(box: HTMLElement | null, row: number, high: number, height: number): void {
  if (!box) return;
  const [from, to] = [row * high, (row + 1) * high];
  if (from < box.scrollTop) box.scrollTop = from;
  else if (to > box.scrollTop + height) box.scrollTop = to - height;
}

function tipStyle(
  active: Attempt,
  {
    span,
    width,
    row,
    top,
    height,
  }: { span: { from: number; to: number }; width: number; row: number; top: number; height: number },
) {
  const x = Math.max(GUTTER, Math.min(width, xOf(active.start ?? active.queued, span, width)));
  const below = (active.row + 1) * row - top + 8;
  const isLow = below > height - 90;
  const y = isLow ? { bottom: height - active.row * row + top + 6 } : { top: below };
  return { left: Math.max(0, Math.min(x, width - TIP)), maxWidth: TIP, ...y };
}

function summaryOf(attempts: readonly Attempt[], rows: number): string {
  const repeated = attempts.filter(({ attempt }) => attempt > 1).length;
  const running = attempts.filter(({ state }) => state === "running").length;
  return `Timeline of ${formatCount(rows)} trials: ${formatCount(running)} running, ${formatCount(repeated)} repeated attempts.`;
}
