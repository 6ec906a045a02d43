// The description of a sweep: its first line, opened on demand as Markdown.
import { lazy, Suspense, useState } from "react";
import "./organize.css";

const RenderedMarkdown = lazy(() =>
  import("./markdown").then(({ RenderedMarkdown }) => ({ default: RenderedMarkdown })),
);
const MARKS = /^[#>*+\-\s\d.)]+|[*_`~]/g; // of Markdown, in the first line

export function Description({ text }: { text: string }) {
  const [isOpen, setOpen] = useState(false);
  if (text === "") return null;
  return (
    <details className="description" onToggle={event => setOpen(event.currentTarget.open)}>
      <summary>
        <span className="description-first">{firstLine(text)}</span>
      </summary>
      {isOpen && (
        <Suspense fallback={<p>Loading the description</p>}>
          <RenderedMarkdown text={text} />
        </Suspense>
      )}
    </details>
  );
}

/** The first line as plain text. */
export function firstLine(text: string): string {
  const line = text.split("\n").find(each => each.replace(MARKS, "").trim() !== "") ?? "";
  return line.replace(MARKS, "").trim() || "Description";
}
