// The sweep file as text: line numbers, syntax highlighting, and marked problem lines over a plain text area.
import { type RefObject, useId } from "react";
import { numbered, YamlLine } from "../yaml/highlight";
import "./editor.css";

type Props = {
  text: string;
  onChange: (text: string) => void;
  onSubmit: () => void;
  invalidLines: ReadonlySet<number>;
  area: RefObject<HTMLTextAreaElement | null>;
  describedBy: string;
};

const BOTTOM = 2; // empty lines below the text

export function Editor({ text, onChange, onSubmit, invalidLines, area, describedBy }: Props) {
  const id = useId();
  const lines = numbered(text);
  return (
    <div className="editor">
      <label htmlFor={id} className="hidden-text">
        Sweep file
      </label>
      <div className="editor-sheet">
        <pre className="editor-under" aria-hidden="true">
          {lines.map(([number, line]) => (
            <YamlLine key={number} line={line} invalid={invalidLines.has(number)} />
          ))}
        </pre>
        <textarea
          ref={area}
          id={id}
          className="editor-text"
          value={text}
          rows={lines.length + BOTTOM}
          wrap="off"
          spellCheck={false}
          autoCapitalize="off"
          autoComplete="off"
          aria-describedby={describedBy}
          aria-invalid={invalidLines.size > 0 || undefined}
          onChange={event => onChange(event.target.value)}
          onKeyDown={event => {
            if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) onSubmit();
          }}
        />
      </div>
    </div>
  );
}

/** Puts the cursor on a line, counted from 1. */
export function goToLine(area: HTMLTextAreaElement | null, line: number, column: number | null): void {
  if (!area) return;
  const before = area.value.split("\n").slice(0, line - 1);
  const start = before.reduce((sum, each) => sum + each.length + 1, 0);
  const end = area.value.indexOf("\n", start);
  area.focus();
  area.setSelectionRange(start + (column ?? 1) - 1, end < 0 ? area.value.length : end);
}
