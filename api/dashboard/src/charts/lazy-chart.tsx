// Renders a chart only when it is nearly in view or the browser is idle, so that pages with many charts open fast.
import { type ReactNode, useEffect, useRef, useState } from "react";

const AHEAD = "300px";
const LATEST_MS = 3_000;

export function LazyChart({ height, children }: { height: number; children: ReactNode }) {
  const box = useRef<HTMLDivElement>(null);
  const [isSeen, setSeen] = useState(typeof IntersectionObserver === "undefined");
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
  }, [isSeen]);
  return (
    <div ref={box} style={isSeen ? undefined : { minHeight: height }}>
      {isSeen && children}
    </div>
  );
}
