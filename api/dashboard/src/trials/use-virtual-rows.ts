// Row virtualization of a long table: all rows have the same height, so the visible range is computed. The page scrolls,
// not the table.
import { type RefCallback, useCallback, useRef, useState } from "react";

const ROW_PX = 28;
const HEAD_PX = 32; // sticky above the rows
const AHEAD = 12; // rows before and after those in view
const ABOVE_PX = 280; // approximately, above the rows of a page that was just opened
const SHOWN_MS = 300; // the first rows are on the screen by then
const LATEST_MS = 1_000;

export type Rows = {
  first: number;
  last: number; // below `first` if there are none
  above: number; // px of the rows before and after
  below: number;
  frame: RefCallback<HTMLElement>;
  scrollTo: (index: number) => void;
  toTop: () => void;
};

/** The rows in view, plus some ahead once the page is idle or scrolls: the first rows appear sooner without them. */
export function useRows(count: number): Rows {
  const view = useRef<{ frame: HTMLElement; page: HTMLElement }>(null);
  const [inView, setInView] = useState(() => ({ top: 0, shown: Math.ceil((window.innerHeight - ABOVE_PX) / ROW_PX) }));
  const [ahead, setAhead] = useState(0);
  const frame = useCallback((found: HTMLElement | null) => {
    if (!found) return;
    const page = found.closest("main") ?? found;
    view.current = { frame: found, page };
    let isFirst = true; // later, the head above the table may become lower without a scroll event
    const measure = () => {
      const scrolled = page.scrollTop - topOf(found, page); // negative: px above the table
      const top = Math.max(0, Math.floor(scrolled / ROW_PX));
      const above = isFirst ? Math.max(stickyPx(), -scrolled) : 0;
      const shown = Math.ceil(((page.clientHeight || 700) - above) / ROW_PX);
      setInView(before => (before.top === top && before.shown >= shown ? before : { top, shown }));
    };
    const measureAll = () => {
      isFirst = false;
      setAhead(AHEAD);
      measure();
    };
    measure();
    const stopWaiting = whenIdle(measureAll);
    page.addEventListener("scroll", measureAll, { passive: true });
    const observer = new ResizeObserver(measure);
    observer.observe(page);
    return () => {
      stopWaiting();
      page.removeEventListener("scroll", measureAll);
      observer.disconnect();
      view.current = null;
    };
  }, []);
  const scrollTo = (index: number) => {
    if (!view.current) return;
    const { frame, page } = view.current;
    const most = topOf(frame, page) + index * ROW_PX - stickyPx();
    const least = most + stickyPx() + ROW_PX + HEAD_PX - page.clientHeight;
    page.scrollTop = Math.min(Math.max(page.scrollTop, least), most);
  };
  const toTop = () => {
    if (!view.current) return;
    const { frame, page } = view.current;
    page.scrollTop = Math.min(page.scrollTop, Math.max(0, topOf(frame, page) - stickyPx()));
  };
  const last = Math.min(count - 1, inView.top + inView.shown + ahead);
  const first = Math.max(0, Math.min(inView.top - ahead, last));
  return {
    first,
    last,
    above: first * ROW_PX,
    below: Math.max(0, count - 1 - last) * ROW_PX,
    frame,
    scrollTo,
    toTop,
  };
}

/** Where the table starts in the content of the page, in px; a table that scrolls itself starts at 0. */
function topOf(frame: HTMLElement, page: HTMLElement): number {
  if (frame === page) return 0;
  return frame.getBoundingClientRect().top - page.getBoundingClientRect().top + page.scrollTop;
}

/** The height of what stays above the table: `StickyHead` sets it. */
function stickyPx(): number {
  return Number.parseFloat(document.documentElement.style.getPropertyValue("--sticky")) || 0;
}

/** Runs once the first rows are shown and the browser is idle; returns a function that cancels it. */
function whenIdle(run: () => void): () => void {
  let idle: number | undefined;
  const timer = setTimeout(() => {
    if (window.requestIdleCallback) idle = window.requestIdleCallback(run, { timeout: LATEST_MS });
    else run();
  }, SHOWN_MS);
  return () => {
    clearTimeout(timer);
    if (idle !== undefined) window.cancelIdleCallback(idle);
  };
}
