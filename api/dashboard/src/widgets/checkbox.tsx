// A checkbox with its label.
import "./labelled-control.css";

export function Checkbox({ label, on, onChange }: { label: string; on: boolean; onChange: (on: boolean) => void }) {
  return (
    <label className="labelled-control">
      <input type="checkbox" checked={on} onChange={event => onChange(event.target.checked)} />
      {label}
    </label>
  );
}
