// A collapsible section of the form, which opens if it contains a problem.
import { type ReactNode, useEffect, useState } from "react";

type Props = { title: string; state?: string; hint?: ReactNode; problem?: string; children: ReactNode };

export function Collapsible({ title, state, hint, problem, children }: Props) {
  const invalid = problem !== undefined;
  const [open, setOpen] = useState(invalid);
  useEffect(() => {
    if (invalid) setOpen(true); // it stays open after the problem is fixed
  }, [invalid]);
  return (
    <details className="new-block" open={open}>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: a summary is a control, which the browser also clicks by keyboard */}
      <summary
        onClick={event => {
          event.preventDefault();
          setOpen(!open);
        }}
      >
        <span>{title}</span>
        <span className={invalid ? "new-block-wrong" : "new-block-state"}>{invalid ? "invalid" : state}</span>
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
