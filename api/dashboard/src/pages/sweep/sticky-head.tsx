// The head of a sweep's page, which stays in view: its height is known to what sticks below it, as CSS variables.
import { type ReactNode, type RefCallback, useCallback } from "react";
import "./sticky-head.css";

const VARIABLES = ["--sticky", "--sticky-end"]; // its height, and where it ends in the window

export function StickyHead({ children }: { children: ReactNode }) {
  const measured: RefCallback<HTMLElement> = useCallback(head => {
    if (!head) return;
    const page = head.closest("main") ?? head;
    const style = document.documentElement.style;
    const measure = () => {
      const { position, top } = getComputedStyle(head);
      const height = position === "sticky" && top !== "auto" ? head.offsetHeight : 0; // auto: it sticks to the side only
      const end = page.getBoundingClientRect().top + height; // read before writing: each write restyles the whole page
      for (const [name, value] of [
        ["--sticky", `${height}px`],
        ["--sticky-end", `${end}px`],
      ] as const)
        if (style.getPropertyValue(name) !== value) style.setProperty(name, value);
    };
    const observer = new ResizeObserver(measure);
    observer.observe(head);
    observer.observe(page);
    measure();
    return () => {
      observer.disconnect();
      for (const name of VARIABLES) style.removeProperty(name);
    };
  }, []);
  return (
    <div ref={measured} className="sweep-sticky">
      {children}
    </div>
  );
}
