// A page that is opened begins at its top. Back and forward keep the position, and so does the next trial or sweep.
import { useEffect, useLayoutEffect, useRef } from "react";

export function useScrollToTop(path: string): void {
  const kind = path.replace(/\d+/g, "#");
  const last = useRef(kind);
  const wentBack = useRef(false);
  useEffect(() => {
    const onPopState = () => {
      wentBack.current = true;
    };
    addEventListener("popstate", onPopState);
    return () => removeEventListener("popstate", onPopState);
  }, []);
  // biome-ignore lint/correctness/useExhaustiveDependencies: each path ends what `popstate` started
  useLayoutEffect(() => {
    if (kind !== last.current && !wentBack.current) document.documentElement.scrollTop = 0;
    last.current = kind;
    wentBack.current = false;
  }, [path]);
}
