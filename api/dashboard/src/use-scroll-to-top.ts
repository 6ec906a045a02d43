// A page that is opened begins at its top; back and forward return to where it was. The next trial or sweep keeps the
// position, so that the same part of both is seen. `main` scrolls, not the document, so browsers restore nothing.
import { useEffect, useLayoutEffect, useRef } from "react";

const LOADED_MS = 1_500; // a page that is shown again is as high as before by then

export function useScrollToTop(path: string): void {
  const kind = path.replace(/\d+/g, "#");
  const shown = useRef({ path, kind });
  const positions = useRef(new Map<string, number>());
  const isBack = useRef(false);
  useEffect(() => {
    const onPopState = () => {
      isBack.current = true;
    };
    const onScroll = ({ target }: Event) => {
      if (target === scrolled()) positions.current.set(shown.current.path, (target as HTMLElement).scrollTop);
    };
    addEventListener("popstate", onPopState);
    addEventListener("scroll", onScroll, { capture: true, passive: true });
    return () => {
      removeEventListener("popstate", onPopState);
      removeEventListener("scroll", onScroll, { capture: true });
    };
  }, []);
  useLayoutEffect(() => {
    const before = shown.current;
    shown.current = { path, kind };
    const wentBack = isBack.current;
    isBack.current = false;
    if (kind !== before.kind) return scrollTo(wentBack ? (positions.current.get(path) ?? 0) : 0);
  }, [path, kind]);
}

const scrolled = () => document.querySelector("main");

/** Again in each frame until the page is high enough, or the user scrolls; returns a function that ends it. */
function scrollTo(top: number): () => void {
  const end = performance.now() + LOADED_MS;
  const actions = ["wheel", "pointerdown", "keydown"];
  let frame = 0;
  const stop = () => {
    cancelAnimationFrame(frame);
    for (const action of actions) removeEventListener(action, stop);
  };
  const step = () => {
    const page = scrolled();
    if (page) page.scrollTop = top;
    if (page && page.scrollTop < top - 1 && performance.now() < end) frame = requestAnimationFrame(step);
    else stop();
  };
  for (const action of actions) addEventListener(action, stop);
  step();
  return stop;
}
