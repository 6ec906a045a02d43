// A canvas at device resolution that redraws when its size, theme or data change.
import { type RefObject, useEffect, useLayoutEffect, useRef, useState } from "react";
import { useTheme } from "./theme";

export type Size = { width: number; height: number };
export type Draw = (context: CanvasRenderingContext2D, size: Size) => void;

/** The size of an element in CSS pixels, updated when it changes. */
export function useSize(element: RefObject<HTMLElement | null>): Size {
  const [size, setSize] = useState<Size>({ width: 0, height: 0 });
  useLayoutEffect(() => {
    const observed = element.current;
    if (!observed || typeof ResizeObserver === "undefined") return;
    const observer = new ResizeObserver(([entry]) => {
      if (entry) setSize({ width: entry.contentRect.width, height: entry.contentRect.height });
    });
    observer.observe(observed);
    return () => observer.disconnect();
  }, [element]);
  return size;
}

/** Draws into a canvas of this size whenever `draw` (memoize it by its data), the size or the theme changes. */
export function useCanvas(draw: Draw, size: Size): RefObject<HTMLCanvasElement | null> {
  const canvas = useRef<HTMLCanvasElement>(null);
  const theme = useTheme();
  // biome-ignore lint/correctness/useExhaustiveDependencies: the theme changes the values of the tokens
  useEffect(() => {
    const context = canvas.current?.getContext("2d");
    if (!canvas.current || !context || size.width <= 0 || size.height <= 0) return;
    const ratio = window.devicePixelRatio || 1;
    const [width, height] = [Math.round(size.width * ratio), Math.round(size.height * ratio)];
    if (canvas.current.width !== width) canvas.current.width = width;
    if (canvas.current.height !== height) canvas.current.height = height;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, size.width, size.height);
    draw(context, size);
  }, [draw, size, theme]);
  return canvas;
}
