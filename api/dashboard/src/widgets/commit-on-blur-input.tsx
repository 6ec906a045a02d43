// An input whose text is committed on blur or on Enter, and discarded on Escape.
import { type KeyboardEvent, useState } from "react";

type Props = {
  stored: string;
  onCommit: (typed: string) => void;
  placeholder?: string;
  numeric?: boolean;
  list?: string;
  "aria-label"?: string;
  "aria-invalid"?: boolean;
};

/** An input that commits its text on blur; changes of `stored` do not overwrite text that is being typed. */
export function CommitOnBlurInput({ stored, onCommit, numeric, ...rest }: Props) {
  const [typed, setTyped] = useState(stored);
  const [isTyping, setIsTyping] = useState(false);
  const [last, setLast] = useState(stored);
  if (stored !== last) {
    // Not in an effect: that would render the old value once more and move the cursor to its end.
    setLast(stored);
    if (!isTyping) setTyped(stored);
  }
  const commit = () => {
    setIsTyping(false);
    if (typed !== stored) onCommit(typed);
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.key === "Enter") commit();
    if (event.key === "Escape") {
      setIsTyping(false);
      setTyped(stored);
    }
  };
  return (
    <input
      {...rest}
      value={typed}
      inputMode={numeric ? "decimal" : undefined}
      autoComplete="off"
      spellCheck={false}
      onChange={event => {
        setIsTyping(true);
        setTyped(event.target.value);
      }}
      onBlur={commit}
      onKeyDown={onKey}
    />
  );
}
