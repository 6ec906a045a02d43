// A horizontally scrollable area, focusable by keyboard if its content is wider than it is.
import { type ReactNode, useLayoutEffect, useRef, useState } from "react";
import { useSize } from "../auto-redraw-canvas";
import "./scroll-x.css";

export function ScrollX({ label, children }: { label: string; children: ReactNode }) {
  const box = useRef<HTMLElement>(null);
  const { width } = useSize(box);
  const [scrolls, setScrolls] = useState(false);
  // biome-ignore lint/correctness/useExhaustiveDependencies: width and content change the measurement
  useLayoutEffect(() => {
    if (box.current) setScrolls(box.current.scrollWidth > box.current.clientWidth + 1);
  }, [width, children]);
  return (
    <section ref={box} className="scroll-x" aria-label={scrolls ? label : undefined} tabIndex={scrolls ? 0 : undefined}>
      {children}
    </section>
  );
}
