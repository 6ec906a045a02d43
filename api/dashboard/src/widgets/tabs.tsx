// Tabs as links: each has its own URL and keeps the query. The current one is in view also where they do not all fit.
import { useEffect, useRef } from "react";
import { Link, useSearch } from "wouter";
import "./tabs.css";

export type Tab = { key: string; name: string; href: string };

export function Tabs({ tabs, current, label }: { tabs: readonly Tab[]; current: string; label: string }) {
  const query = useSearch();
  const row = useRef<HTMLElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: `current` is that of the DOM
  useEffect(() => {
    const tabs = row.current;
    if (!tabs || typeof ResizeObserver === "undefined") return;
    const observer = new ResizeObserver(() => showCurrent(tabs)); // also when its neighbor needs room
    observer.observe(tabs);
    return () => observer.disconnect();
  }, [current]);
  return (
    <nav ref={row} className="tabs" aria-label={label}>
      {tabs.map(tab => (
        <Link
          key={tab.key}
          href={query ? `${tab.href}?${query}` : tab.href}
          className="tab"
          aria-current={tab.key === current ? "page" : undefined}
        >
          {tab.name}
        </Link>
      ))}
    </nav>
  );
}

/** Scrolls only the row, not the page. */
function showCurrent(row: HTMLElement): void {
  const tab = row.querySelector("[aria-current]")?.getBoundingClientRect();
  const { left, right } = row.getBoundingClientRect();
  if (!tab) return;
  if (tab.left < left) row.scrollLeft -= left - tab.left;
  else if (tab.right > right) row.scrollLeft += tab.right - right;
}
