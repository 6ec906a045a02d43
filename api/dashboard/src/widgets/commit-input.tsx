// An input whose text is committed at each keystroke, on blur and on Enter; Escape restores the text from before.
import "./commit-input.css";
import { type ChangeEvent, type KeyboardEvent, useEffect, useRef, useState } from "react";

type Props = {
  stored: string;
  onCommit: (typed: string) => void;
  placeholder?: string;
  numeric?: boolean;
  lines?: number; // a text of several lines
  whole?: boolean; // one line of text, wrapped where it does not fit, so that all of it is visible
  list?: string;
  "aria-label"?: string;
  "aria-invalid"?: boolean;
};

/**
 * Changes of `stored` do not overwrite text that is being typed. Cleared text is committed on blur and on Enter: while a person
 * types another value, the key, its place and its comment stay in the file.
 */
export function CommitInput({ stored, onCommit, numeric, lines, whole, ...rest }: Props) {
  const [typed, setTyped] = useState(stored);
  const [before, setBefore] = useState<string | null>(null); // the stored text when typing began
  const [last, setLast] = useState(stored);
  const committed = useRef(stored); // what was passed on last: `stored` follows later
  if (stored !== last) {
    // Not in an effect: that would render the old value once more and move the cursor to its end.
    setLast(stored);
    if (before === null) setTyped(stored);
  }
  const isTyping = before !== null;
  const commit = (text: string) => {
    if (text !== committed.current) onCommit(text);
    committed.current = text;
  };
  useEffect(() => {
    if (!isTyping) committed.current = stored;
  });
  const end = (text: string) => {
    setBefore(null);
    setTyped(text);
    if (isTyping) commit(text);
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.key === "Enter" && lines === undefined) {
      if (whole) event.preventDefault(); // no line break
      end(typed);
    }
    if (event.key === "Escape" && before !== null) end(before);
  };
  const shared = {
    ...rest,
    value: typed,
    autoComplete: "off",
    spellCheck: false,
    onChange: (event: ChangeEvent<HTMLInputElement | HTMLTextAreaElement>) => {
      const text = whole ? event.target.value.replace(/\s*[\r\n]+\s*/g, " ") : event.target.value;
      if (before === null) setBefore(stored);
      setTyped(text);
      if (text.trim() !== "") commit(text);
    },
    onBlur: () => end(typed),
    onKeyDown: onKey,
  };
  const inputMode = numeric ? "decimal" : undefined;
  if (whole)
    return (
      <span className="commit-whole" data-text={typed || rest.placeholder}>
        <textarea {...shared} rows={1} cols={1} inputMode={inputMode} />
      </span>
    );
  return lines === undefined ? <input {...shared} inputMode={inputMode} /> : <textarea {...shared} rows={lines} />;
}
