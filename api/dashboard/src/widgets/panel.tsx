// Page headers, panels, and summary figures.
import type { ReactNode } from "react";
import "./panel.css";

export function PageHead({ title, above, children }: { title: ReactNode; above?: ReactNode; children?: ReactNode }) {
  return (
    <div className="page-head">
      <div className="page-title">
        {above && <div className="page-above">{above}</div>}
        <h1>{title}</h1>
      </div>
      {children && <div className="page-actions">{children}</div>}
    </div>
  );
}

export function Panel({
  title,
  hint,
  actions,
  flush,
  children,
}: {
  title?: ReactNode;
  hint?: ReactNode;
  actions?: ReactNode;
  flush?: boolean;
  children: ReactNode;
}) {
  return (
    <section className={flush ? "panel panel-flush" : "panel"}>
      {(title || actions) && (
        <header className="panel-head">
          <div>
            {title && <h2>{title}</h2>}
            {hint && <p className="panel-hint">{hint}</p>}
          </div>
          {actions && <div className="panel-actions">{actions}</div>}
        </header>
      )}
      {children}
    </section>
  );
}

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
