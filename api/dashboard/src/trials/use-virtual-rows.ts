// Row virtualization of a long table: all rows have the same height, so the visible range is computed.
import { type RefCallback, useCallback, useRef, useState } from "react";

const ROW_PX = 34;
const HEAD_PX = 38; // sticky above the rows
const AHEAD = 12;

export type Rows = {
  first: number;
  last: number; // below `first` if there are none
  above: number; // px of the rows before and after
  below: number;
  frame: RefCallback<HTMLElement>;
  scrollTo: (index: number) => void;
  toTop: () => void;
};

/** The rows in view, plus some ahead. */
export function useRows(count: number): Rows {
  const element = useRef<HTMLElement>(null);
  const [view, setView] = useState({ top: 0, shown: 20 });
  const frame = useCallback((found: HTMLElement | null) => {
    element.current = found;
    if (!found) return;
    const measure = () => {
      const top = Math.floor(found.scrollTop / ROW_PX);
      const shown = Math.ceil((found.clientHeight || 700) / ROW_PX);
      setView(before => (before.top === top && before.shown === shown ? before : { top, shown }));
    };
    measure();
    found.addEventListener("scroll", measure, { passive: true });
    const observer = new ResizeObserver(measure);
    observer.observe(found);
    return () => {
      found.removeEventListener("scroll", measure);
      observer.disconnect();
      element.current = null;
    };
  }, []);
  const scrollTo = (index: number) => {
    const found = element.current;
    if (!found) return;
    const [least, most] = [(index + 1) * ROW_PX + HEAD_PX - found.clientHeight, index * ROW_PX];
    found.scrollTop = Math.min(Math.max(found.scrollTop, least), most);
  };
  const last = Math.min(count - 1, view.top + view.shown + AHEAD);
  const first = Math.max(0, Math.min(view.top - AHEAD, last));
  return {
    first,
    last,
    above: first * ROW_PX,
    below: Math.max(0, count - 1 - last) * ROW_PX,
    frame,
    scrollTo,
    toTop: () => element.current?.scrollTo({ top: 0 }),
  };
}
