// The current time in ms, updated every second; it pauses while the tab is hidden.
import { useEffect, useState } from "react";

const SECOND_MS = 1_000;

export function useNow(ticking = true, everyMs = SECOND_MS): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    if (!ticking) return;
    const timer = setInterval(() => {
      if (document.visibilityState !== "hidden") setNow(Date.now());
    }, everyMs);
    return () => clearInterval(timer);
  }, [ticking, everyMs]);
  return now;
}
