// The widths of the table's columns: changed by dragging or by arrow keys, and kept in this browser.
import { type KeyboardEvent, type PointerEvent, useState } from "react";
import "./column-width.css";

const [NARROWEST, WIDEST] = [56, 800];
const STEP = 16; // px of a key

type Widths = Readonly<Record<string, number>>;

export function useColumnWidths(sweepId: number): [Widths, (key: string, width: number) => void] {
  const stored = `podium.column-widths.${sweepId}`;
  const [widths, setWidths] = useState<Widths>(() => read(stored));
  const set = (key: string, width: number) => {
    const next = { ...widths, [key]: Math.round(Math.max(NARROWEST, Math.min(WIDEST, width))) };
    setWidths(next);
    write(stored, next);
  };
  return [widths, set];
}

type HandleProps = { name: string; width: number; onWidth: (width: number) => void };

/** The edge of a column's head. */
export function ColumnEdge({ name, width, onWidth }: HandleProps) {
  const onPointerDown = (event: PointerEvent<HTMLElement>) => {
    event.preventDefault();
    const [from, edge] = [event.clientX, event.currentTarget];
    edge.setPointerCapture(event.pointerId);
    const move = (moved: globalThis.PointerEvent) => onWidth(width + moved.clientX - from);
    const end = () => {
      edge.removeEventListener("pointermove", move);
      edge.removeEventListener("pointerup", end);
      edge.removeEventListener("pointercancel", end);
    };
    edge.addEventListener("pointermove", move);
    edge.addEventListener("pointerup", end);
    edge.addEventListener("pointercancel", end);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const by = { ArrowLeft: -STEP, ArrowRight: STEP }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    onWidth(width + by);
  };
  return (
    // biome-ignore lint/a11y/useSemanticElements: <hr> has no width to set
    <span
      role="separator"
      aria-orientation="vertical"
      aria-label={`Width of ${name}`}
      aria-valuenow={Math.round(width)}
      aria-valuemin={NARROWEST}
      aria-valuemax={WIDEST}
      tabIndex={0}
      className="column-edge"
      onPointerDown={onPointerDown}
      onKeyDown={onKeyDown}
    />
  );
}

function read(key: string): Widths {
  try {
    const found: unknown = JSON.parse(localStorage.getItem(key) ?? "{}");
    return typeof found === "object" && found !== null ? (found as Widths) : {};
  } catch {
    return {};
  }
}

function write(key: string, widths: Widths): void {
  try {
    localStorage.setItem(key, JSON.stringify(widths));
  } catch {
    // Storage is disabled or full: the widths last until the page is left.
  }
}
