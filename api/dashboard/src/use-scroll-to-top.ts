// A page that is opened begins at its top; back and forward return to where it was. The next trial or sweep keeps the
// position, so that the same part of both is seen. Browsers restore only the document, and a table scrolls in `main`.
import { useEffect, useLayoutEffect, useRef } from "react";

const LOADED_MS = 1_500; // a page that is shown again is as high as before by then

export function useScrollToTop(path: string): void {
  const kind = path.replace(/\d+/g, "#");
  const shown = useRef({ path, kind });
  const positions = useRef(new Map<string, number>());
  const isBack = useRef(false);
  useEffect(() => {
    const onPopState = () => {
      isBack.current = location.pathname !== shown.current.path; // only then the path changes
    };
    const onScroll = ({ target }: Event) => {
      const page = scrolled();
      if (target === page || target === document) positions.current.set(shown.current.path, page.scrollTop);
    };
    addEventListener("popstate", onPopState, { capture: true }); // before the router shows the page
    addEventListener("scroll", onScroll, { capture: true, passive: true });
    return () => {
      removeEventListener("popstate", onPopState, { capture: true });
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

/** What scrolls on this page. */
function scrolled(): HTMLElement {
  const main = document.querySelector("main");
  return main && getComputedStyle(main).overflowY === "auto" ? main : document.documentElement;
}

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
    page.scrollTop = top;
    if (page.scrollTop < top - 1 && performance.now() < end) frame = requestAnimationFrame(step);
    else stop();
  };
  for (const action of actions) addEventListener(action, stop);
  step();
  return stop;
}
