// Leaves a chart out until it is nearly in sight: a page of twenty charts opens as quickly as one of three.
import { type ReactNode, useEffect, useRef, useState } from "react";

const AHEAD = "300px";

export function Visible({ height, children }: { height: number; children: ReactNode }) {
  const box = useRef<HTMLDivElement>(null);
  const [isSeen, setSeen] = useState(typeof IntersectionObserver === "undefined");
  useEffect(() => {
    if (isSeen || !box.current) return;
    const observer = new IntersectionObserver(entries => entries.some(entry => entry.isIntersecting) && setSeen(true), {
      rootMargin: AHEAD,
    });
    observer.observe(box.current);
    return () => observer.disconnect();
  }, [isSeen]);
  return (
    <div ref={box} style={isSeen ? undefined : { minHeight: height }}>
      {isSeen && children}
    </div>
  );
}
