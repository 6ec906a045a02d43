// The description of a sweep: its first line, opened on demand as Markdown.
import { useState } from "react";
import { part } from "../widgets/lazy-part";
import "./organize.css";

const RenderedMarkdown = part("the description", () => import("./markdown").then(module => module.RenderedMarkdown), 2);
const MARKS = /^[#>*+\-\s\d.)]+|[*_`~]/g; // of Markdown, in the first line

export function Description({ text }: { text: string }) {
  const [isOpen, setOpen] = useState(false);
  if (text === "") return null;
  return (
    <details className="description" onToggle={event => setOpen(event.currentTarget.open)}>
      <summary>
        <span className="description-first">{firstLine(text)}</span>
      </summary>
      {isOpen && <RenderedMarkdown text={text} level={2} />}
    </details>
  );
}

/** The first line as plain text. */
export function firstLine(text: string): string {
  const line = text.split("\n").find(each => each.replace(MARKS, "").trim() !== "") ?? "";
  return line.replace(MARKS, "").trim() || "Description";
}
