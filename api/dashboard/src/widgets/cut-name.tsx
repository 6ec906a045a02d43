// A name that is cut in the middle if there is no room for it: long names differ at their ends.
import "./cut-name.css";

const MIN_LENGTH = 12; // characters; shorter names are cut at the end
const END = 7; // characters that stay

export function CutName({ name, title = name }: { name: string; title?: string }) {
  if (name.length < MIN_LENGTH) return name;
  return (
    <span className="cut-name" title={title}>
      <span className="cut-name-start">{name.slice(0, -END)}</span>
      <span>{name.slice(-END)}</span>
    </span>
  );
}
