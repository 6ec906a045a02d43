// An input for a new name, with a button that adds it.
import { useId, useState } from "react";
import { Button } from "../widgets/button";
import { Icon } from "../widgets/icon";

type Props = { what: string; taken: readonly string[]; known?: readonly string[]; onAdd: (name: string) => void };

export function AddName({ what, taken, known = [], onAdd }: Props) {
  const [name, setName] = useState("");
  const id = useId();
  const wanted = name.trim();
  const there = taken.includes(wanted);
  const add = () => {
    if (wanted === "" || there) return;
    onAdd(wanted);
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
        {known.map(each => (
          <option key={each} value={each} />
        ))}
      </datalist>
      <Button small disabled={wanted === "" || there} onClick={add}>
        <Icon name="plus" size={14} /> Add {what}
      </Button>
      {there && <span className="field-hint">{wanted} already exists.</span>}
    </div>
  );
}
