// An input for a new name, with a button that adds it.
import { useId, useState } from "react";
import { Button } from "../widgets/button";
import { Icon } from "../widgets/icon";

type Props = {
  what: string;
  existing: readonly string[];
  suggestions?: readonly string[];
  onAdd: (name: string) => void;
};

export function AddName({ what, existing, suggestions = [], onAdd }: Props) {
  const [name, setName] = useState("");
  const id = useId();
  const trimmed = name.trim();
  const exists = existing.includes(trimmed);
  const add = () => {
    if (trimmed === "" || exists) return;
    onAdd(trimmed);
    setName("");
  };
  return (
    <div className="new-add">
      <input
        aria-label={`Name of ${what} to add`}
        placeholder="name"
        list={id}
        value={name}
        autoComplete="off"
        onChange={event => setName(event.target.value)}
        onKeyDown={event => event.key === "Enter" && add()}
      />
      <datalist id={id}>
        {suggestions.map(each => (
          <option key={each} value={each} />
        ))}
      </datalist>
      <Button small disabled={trimmed === "" || exists} onClick={add}>
        <Icon name="plus" size={14} /> Add {what}
      </Button>
      {exists && <span className="field-hint">{trimmed} already exists.</span>}
    </div>
  );
}
