// The head of a page: its title, what is above it, and its actions.
import type { ReactNode } from "react";
import "./page-head.css";

export function PageHead({ title, above, children }: { title: ReactNode; above?: ReactNode; children?: ReactNode }) {
  return (
    <div className="page-head">
      <div className="page-title">
        {above && <div className="page-above">{above}</div>}
        <h1 title={typeof title === "string" ? title : undefined}>{title}</h1>
      </div>
      {children && <div className="page-actions">{children}</div>}
    </div>
  );
}
