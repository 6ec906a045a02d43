// One axis of the parallel coordinates: its name, tick labels, and brush handles for pointer and keyboard.
import { type KeyboardEvent, type PointerEvent, useRef } from "react";
import { formatNumber, formatValue } from "../format";
import { CutName } from "../widgets/cut-name";
import { type Axis, numberAt, placeOn, type Scalar, ticksOf, titleOf } from "./axis";
import type { Brush } from "./brush-filter-terms";
import { BOTTOM, placeAt, placeY, TOP } from "./draw-parallel-lines";

export type AxisProps = {
  axis: Axis;
  x: number;
  gap: number; // px to the next axis
  room: number; // px for a name centred above it
  last: boolean; // no space on its right
  absent: boolean; // some trials do not have this parameter
  height: number;
  brush: Brush | undefined;
  onBrush: (brush: Brush | null, isDone: boolean) => void;
  onMove: (by: number) => void; // left or right of its neighbours
};

const [STEP, LARGE_STEP] = [1 / 40, 1 / 8];

export function ParallelAxis(props: AxisProps) {
  const { axis, x, gap, last, absent, height } = props;
  return (
    <div className="parallel-axis" style={{ left: x }}>
      <AxisName {...props} />
      <div className="parallel-line" style={{ top: TOP, bottom: BOTTOM }} />
      {absent && (
        <span className="parallel-absent" title={`Trials without ${axis.name}`}>
          none
        </span>
      )}
      {axis.kind === "choice" ? (
        <Choices {...props} />
      ) : (
        <>
          {ticksOf(axis, Math.floor((height - TOP - BOTTOM) / 60)).map(tick => (
            <span
              key={tick.label}
              className={last ? "parallel-tick parallel-tick-left" : "parallel-tick"}
              style={{ top: placeY(tick.at, height), maxWidth: gap - 14 }}
            >
              <CutName name={tick.label} />
            </span>
          ))}
          <Range {...props} />
        </>
      )}
    </div>
  );
}

function AxisName({ axis, gap, room, onMove }: AxisProps) {
  const from = useRef<number | null>(null);
  const onKeyDown = (event: KeyboardEvent) => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    onMove(by);
  };
  const onPointerMove = (event: PointerEvent) => {
    if (from.current === null || Math.abs(event.clientX - from.current) < gap * 0.7) return;
    onMove(event.clientX > from.current ? 1 : -1);
    from.current += event.clientX > from.current ? gap : -gap;
  };
  return (
    <button
      type="button"
      className="parallel-name"
      style={{ maxWidth: Math.max(60, Math.min(gap - 8, room)) }}
      title={`${axis.name}: drag it, or press the left and right arrow keys, to move the axis`}
      onKeyDown={onKeyDown}
      onPointerDown={event => {
        from.current = event.clientX;
        event.currentTarget.setPointerCapture?.(event.pointerId);
      }}
      onPointerMove={onPointerMove}
      onPointerUp={() => {
        from.current = null;
      }}
    >
      <CutName name={titleOf(axis)} />
    </button>
  );
}

function Range({ axis, height, brush, onBrush }: AxisProps) {
  const range = brush && "low" in brush ? brush : null;
  const low = range ? (placeOn(axis, range.low) ?? 0) : 0;
  const high = range ? (placeOn(axis, range.high) ?? 1) : 1;
  const anchor = useRef<{ at: number; y: number; moved: boolean } | null>(null);
  const set = (from: number, to: number, isDone: boolean) => {
    const [least, most] = [Math.max(0, Math.min(from, to)), Math.min(1, Math.max(from, to))];
    const isWhole = least <= 0 && most >= 1;
    onBrush(isWhole ? null : { low: numberAt(axis, least), high: numberAt(axis, most) }, isDone);
  };
  const at = (event: PointerEvent) => {
    const top = event.currentTarget.parentElement?.getBoundingClientRect().top ?? 0;
    return placeAt(event.clientY - top, height);
  };
  const startDrag = (event: PointerEvent, anchored: number) => {
    event.preventDefault();
    event.stopPropagation();
    event.currentTarget.setPointerCapture?.(event.pointerId);
    anchor.current = { at: anchored, y: event.clientY, moved: false };
  };
  const drag = (event: PointerEvent, isDone: boolean) => {
    if (!anchor.current) return;
    anchor.current.moved ||= Math.abs(event.clientY - anchor.current.y) > 3;
    if (anchor.current.moved) set(anchor.current.at, at(event), isDone);
    else if (isDone && event.currentTarget.classList.contains("parallel-strip")) onBrush(null, true);
    if (isDone) anchor.current = null;
  };
  const moves = {
    onPointerMove: (event: PointerEvent) => drag(event, false),
    onPointerUp: (event: PointerEvent) => drag(event, true),
    onPointerCancel: () => {
      anchor.current = null;
    },
  };
  const handle = (end: "lowest" | "highest", place: number, other: number) => (
    <div
      className={range ? "parallel-handle" : "parallel-handle parallel-handle-idle"}
      style={{ top: placeY(place, height) }}
      role="slider"
      tabIndex={0}
      aria-label={`${axis.name}, ${end}`}
      aria-orientation="vertical"
      aria-valuemin={axis.low}
      aria-valuemax={axis.high}
      aria-valuenow={numberAt(axis, place)}
      aria-valuetext={formatNumber(numberAt(axis, place))}
      onPointerDown={event => startDrag(event, other)}
      {...moves}
      onKeyDown={event => {
        const moved = movedBy(event, place);
        if (moved === undefined) return;
        event.preventDefault();
        if (moved === null) onBrush(null, true);
        else
          set(
            end === "lowest" ? Math.min(moved, other) : other,
            end === "lowest" ? other : Math.max(moved, other),
            !event.repeat, // a held key moves the brush on
          );
      }}
    />
  );
  return (
    <>
      <div
        className="parallel-strip"
        style={{ top: TOP, bottom: BOTTOM }}
        onPointerDown={event => startDrag(event, at(event))}
        {...moves}
      />
      {range && (
        <div
          className="parallel-brush"
          style={{ top: placeY(high, height), height: placeY(low, height) - placeY(high, height) }}
        />
      )}
      {handle("highest", high, low)}
      {handle("lowest", low, high)}
    </>
  );
}

/** The position a key moves a handle to; null: remove the brush; undefined: the key is not handled. */
function movedBy(event: KeyboardEvent, place: number): number | null | undefined {
  if (event.altKey || event.ctrlKey || event.metaKey) return undefined;
  const step = event.shiftKey ? LARGE_STEP : STEP;
  const by = {
    ArrowUp: step,
    ArrowRight: step,
    ArrowDown: -step,
    ArrowLeft: -step,
    PageUp: LARGE_STEP,
    PageDown: -LARGE_STEP,
  }[event.key];
  if (by !== undefined) return Math.max(0, Math.min(1, place + by));
  if (event.key === "Home") return 0;
  if (event.key === "End") return 1;
  return ["Delete", "Backspace"].includes(event.key) ? null : undefined;
}

function Choices({ axis, height, gap, brush, onBrush }: AxisProps) {
  const chosen = brush && "choices" in brush ? brush.choices : [];
  const toggle = (choice: Scalar) => {
    const next = chosen.includes(choice) ? chosen.filter(each => each !== choice) : [...chosen, choice];
    const isAll = next.length === 0 || next.length === axis.choices.length;
    onBrush(isAll ? null : { choices: axis.choices.filter(each => next.includes(each)) }, true);
  };
  return axis.choices.map((choice, index) => (
    <button
      key={String(choice)}
      type="button"
      className="parallel-choice"
      style={{ top: placeY((index + 0.5) / axis.choices.length, height), maxWidth: gap - 8 }}
      aria-pressed={chosen.includes(choice)}
      aria-label={`${axis.name}: ${formatValue(choice)}`}
      onClick={() => toggle(choice)}
    >
      <CutName name={formatValue(choice)} />
    </button>
  ));
}
