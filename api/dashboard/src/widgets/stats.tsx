// Summary figures with their names.
import type { ReactNode } from "react";
import "./stats.css";

/** One labelled figure, for use in <Stats>. */
export function Stat({ name, children, hint }: { name: string; children: ReactNode; hint?: ReactNode }) {
  return (
    <div className="stat">
      <dt>{name}</dt>
      <dd>
        <span className="stat-value">{children}</span>
        {hint && <span className="stat-hint">{hint}</span>}
      </dd>
    </div>
  );
}

export function Stats({ children }: { children: ReactNode }) {
  return <dl className="stats">{children}</dl>;
}
