// Tabs as links: each has its own URL and keeps the query.
import { Link, useSearch } from "wouter";
import "./tabs.css";

export type Tab = { key: string; name: string; href: string };

export function Tabs({ tabs, current, label }: { tabs: readonly Tab[]; current: string; label: string }) {
  const query = useSearch();
  return (
    <nav className="tabs" aria-label={label}>
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
