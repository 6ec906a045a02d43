// A page that is opened begins at its top. After back and forward the browser decides, and the next trial or sweep keeps
// the position, so that the same part of both is seen.
import { useLayoutEffect, useRef } from "react";

// The router shows a page while it handles `popstate`, so this listener must be the first: it is added before any page.
const visit = { path: location.pathname, isBack: false };
addEventListener("popstate", () => {
  visit.isBack = location.pathname !== visit.path; // else the path does not change
});

export function useScrollToTop(path: string): void {
  const kind = path.replace(/\d+/g, "#");
  const last = useRef(kind);
  useLayoutEffect(() => {
    if (kind !== last.current && !visit.isBack) scrolled().scrollTop = 0;
    last.current = kind;
    Object.assign(visit, { path, isBack: false });
  }, [path, kind]);
}

/** What scrolls on this page: `main` with a table, else the document. */
function scrolled(): HTMLElement {
  const main = document.querySelector("main");
  return main && getComputedStyle(main).overflowY === "auto" ? main : document.documentElement;
}
