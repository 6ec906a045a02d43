// The current time in ms, updated every second; it pauses while the tab is hidden.
import { useEffect, useState } from "react";

const SECOND_MS = 1_000;

export function useNow(enabled = true, everyMs = SECOND_MS): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    if (!enabled) return;
    const timer = setInterval(() => {
      if (document.visibilityState !== "hidden") setNow(Date.now());
    }, everyMs);
    return () => clearInterval(timer);
  }, [enabled, everyMs]);
  return now;
}
