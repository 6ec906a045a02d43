// A collapsible section of the form, which opens if it contains a problem.
import { type ReactNode, useEffect, useState } from "react";

type Props = { title: string; state?: string; hint?: ReactNode; problem?: string; children: ReactNode };

export function Fold({ title, state, hint, problem, children }: Props) {
  const wrong = problem !== undefined;
  const [open, setOpen] = useState(wrong);
  useEffect(() => {
    if (wrong) setOpen(true); // it stays open after the problem is fixed
  }, [wrong]);
  return (
    <details className="new-block" open={open}>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: a summary is a control, and the keys click it */}
      <summary
        onClick={event => {
          event.preventDefault();
          setOpen(!open);
        }}
      >
        <span>{title}</span>
        <span className={wrong ? "new-block-wrong" : "new-block-state"}>{wrong ? "invalid" : state}</span>
      </summary>
      {open && (
        <>
          {hint && <p className="field-hint">{hint}</p>}
          {children}
        </>
      )}
    </details>
  );
}
