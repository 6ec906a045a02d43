// A drawing pad for rows of image data, by pointer and keyboard.
import { type KeyboardEvent, type PointerEvent, useRef, useState } from "react";
import { usePixels } from "./pixels";
import { type Image, paint } from "./row-as-image";
import "./drawing-pad.css";

type PadProps = { row: readonly number[]; image: Image; onChange: (row: number[]) => void };

/** A drawing pad: by pointer, or by arrow keys with the space bar as the pen. */
export function DrawingPad({ row, image, onChange }: PadProps) {
  const canvas = usePixels(row, image);
  const latest = useRef(row);
  latest.current = row;
  const [cursor, setCursor] = useState<{ x: number; y: number } | null>(null);
  const radius = Math.max(0.7, image.width / 14);
  const put = (x: number, y: number) => {
    latest.current = paint(latest.current, image, x, y, radius);
    onChange([...latest.current]);
  };
  const draw = (event: PointerEvent<HTMLCanvasElement>) => {
    if (event.type === "pointermove" && event.buttons !== 1) return;
    if (event.type === "pointerdown") event.currentTarget.setPointerCapture(event.pointerId);
    const box = event.currentTarget.getBoundingClientRect();
    put(
      ((event.clientX - box.left) / box.width) * image.width,
      ((event.clientY - box.top) / box.height) * image.height,
    );
  };
  const key = (event: KeyboardEvent) => {
    const now = cursor ?? { x: Math.floor(image.width / 2), y: Math.floor(image.height / 2) };
    const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (event.key === " ") put(now.x + 0.5, now.y + 0.5);
    else if (!step) return;
    event.preventDefault();
    const [across = 0, down = 0] = step ?? [];
    const next = { x: clamp(now.x + across, image.width), y: clamp(now.y + down, image.height) };
    setCursor(next);
    if (step && event.shiftKey) put(next.x + 0.5, next.y + 0.5);
  };
  return (
    <div
      className="pad"
      style={{ aspectRatio: `${image.width} / ${image.height}` }}
      role="application"
      aria-label="Drawing area: arrow keys move the cursor, the space bar paints, Shift with an arrow key draws a line"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: it supports the keyboard
      tabIndex={0}
      onKeyDown={key}
      onBlur={() => setCursor(null)}
    >
      <canvas
        ref={canvas}
        width={image.width}
        height={image.height}
        className="pixels pad-canvas"
        onPointerDown={draw}
        onPointerMove={draw}
      />
      {cursor && (
        <span
          className="pad-cursor"
          aria-hidden="true"
          style={{
            left: `${(cursor.x / image.width) * 100}%`,
            top: `${(cursor.y / image.height) * 100}%`,
            width: `${100 / image.width}%`,
            height: `${100 / image.height}%`,
          }}
        />
      )}
    </div>
  );
}

function clamp(value: number, size: number): number {
  return Math.max(0, Math.min(size - 1, value));
}
