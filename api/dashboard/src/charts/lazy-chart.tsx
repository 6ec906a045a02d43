// Renders a chart only when it is nearly in view or the browser is idle, and redraws it only while it is in view: pages
// with many charts open fast, and a brush costs only the charts that the user sees.
import { type ReactNode, type RefObject, useEffect, useRef, useState } from "react";
import { flushSync } from "react-dom";

const [AHEAD, BESIDE] = ["300px", "40px"]; // beyond the window: for the first drawing, and for later ones
const LATEST_MS = 3_000;

type LazyProps = {
  height: number; // until it is rendered
  eager?: boolean; // rendered at once
  children: ReactNode; // also later: what is shown once the chart is in view again
};

export function LazyChart({ height, eager = false, children }: LazyProps) {
  const box = useRef<HTMLDivElement>(null);
  const isSeen = useIsSeen(box, eager);
  const isInView = useIsInView(box);
  const drawn = useRef<ReactNode>(null);
  if (isInView || drawn.current === null) drawn.current = isSeen ? children : null;
  return (
    <div ref={box} style={isSeen ? undefined : { minHeight: height }}>
      {isSeen && drawn.current}
    </div>
  );
}

/** Whether it has been nearly in view, or the browser has been idle. */
function useIsSeen(box: RefObject<HTMLElement | null>, eager: boolean): boolean {
  const [isSeen, setSeen] = useState(eager || typeof IntersectionObserver === "undefined");
  useEffect(() => {
    if (isSeen || !box.current) return;
    const observer = new IntersectionObserver(entries => entries.some(entry => entry.isIntersecting) && setSeen(true), {
      rootMargin: AHEAD,
    });
    observer.observe(box.current);
    const idle = window.requestIdleCallback?.(() => setSeen(true), { timeout: LATEST_MS });
    return () => {
      observer.disconnect();
      if (idle !== undefined) window.cancelIdleCallback(idle);
    };
  }, [isSeen, box]);
  return isSeen;
}

/** Whether it is in view now; a printed page shows everything. */
function useIsInView(box: RefObject<HTMLElement | null>): boolean {
  const [isInView, setInView] = useState(true);
  useEffect(() => {
    if (typeof IntersectionObserver === "undefined" || !box.current) return;
    const observer = new IntersectionObserver(entries => setInView(entries.at(-1)?.isIntersecting ?? true), {
      rootMargin: BESIDE,
    });
    observer.observe(box.current);
    const onPrint = () => flushSync(() => setInView(true));
    window.addEventListener("beforeprint", onPrint);
    return () => {
      observer.disconnect();
      window.removeEventListener("beforeprint", onPrint);
    };
  }, [box]);
  return isInView;
}
