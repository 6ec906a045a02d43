// An input whose text is committed when typing pauses, on blur and on Enter; Escape restores the text from before.
import { type KeyboardEvent, useEffect, useRef, useState } from "react";

const PAUSE_MS = 400;

type Props = {
  stored: string;
  onCommit: (typed: string) => void;
  placeholder?: string;
  numeric?: boolean;
  list?: string;
  "aria-label"?: string;
  "aria-invalid"?: boolean;
};

/** Changes of `stored` do not overwrite text that is being typed. */
export function CommitInput({ stored, onCommit, numeric, ...rest }: Props) {
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
  const latest = useRef(commit);
  useEffect(() => {
    latest.current = commit;
    if (!isTyping) committed.current = stored;
  });
  useEffect(() => {
    if (!isTyping) return;
    const timer = setTimeout(() => latest.current(typed), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [isTyping, typed]);
  const end = (text: string) => {
    setBefore(null);
    setTyped(text);
    if (isTyping) commit(text);
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.key === "Enter") end(typed);
    if (event.key === "Escape" && before !== null) end(before);
  };
  return (
    <input
      {...rest}
      value={typed}
      inputMode={numeric ? "decimal" : undefined}
      autoComplete="off"
      spellCheck={false}
      onChange={event => {
        if (before === null) setBefore(stored);
        setTyped(event.target.value);
      }}
      onBlur={() => end(typed)}
      onKeyDown={onKey}
    />
  );
}
