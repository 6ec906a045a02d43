// Chart controls: a select and a switch.
import { useId } from "react";
import "./select.css";

export type Option = { value: string; name: string };

export function Choice({
  label,
  value,
  options,
  onChange,
}: {
  label: string;
  value: string;
  options: readonly Option[];
  onChange: (value: string) => void;
}) {
  const id = useId();
  return (
    <span className="choice">
      <label htmlFor={id}>{label}</label>
      <select id={id} value={value} onChange={event => onChange(event.target.value)}>
        {options.map(option => (
          <option key={option.value} value={option.value}>
            {option.name}
          </option>
        ))}
      </select>
    </span>
  );
}

export function Switch({ label, on, onChange }: { label: string; on: boolean; onChange: (on: boolean) => void }) {
  return (
    <label className="choice">
      <input type="checkbox" checked={on} onChange={event => onChange(event.target.checked)} />
      {label}
    </label>
  );
}
