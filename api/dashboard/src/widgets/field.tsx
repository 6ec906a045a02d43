// A labelled control with its hint and error message.
import { cloneElement, type ReactElement, type ReactNode, useId } from "react";
import "./field.css";

type Control = ReactElement<{ id?: string; "aria-describedby"?: string; "aria-invalid"?: boolean }>;

export function Field({
  label,
  hint,
  problem,
  children,
}: {
  label: ReactNode;
  hint?: ReactNode;
  problem?: string;
  children: Control;
}) {
  const id = useId();
  const describedBy = [hint && `${id}-hint`, problem && `${id}-problem`].filter(Boolean).join(" ");
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      {cloneElement(children, {
        id,
        "aria-describedby": describedBy || undefined,
        "aria-invalid": problem ? true : undefined,
      })}
      {problem && (
        <p id={`${id}-problem`} className="field-problem">
          {problem}
        </p>
      )}
      {hint && (
        <p id={`${id}-hint`} className="field-hint">
          {hint}
        </p>
      )}
    </div>
  );
}
