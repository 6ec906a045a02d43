// Markdown as React elements, without HTML: raw tags in the text stay text, and links keep only safe protocols.
// Loaded when the first description is opened.
import Markdown from "react-markdown";
import remarkGfm from "remark-gfm";

type Node = { type: string; depth?: number; children?: Node[] };

const LOWEST = 6;

/** `level`: of the first headings, below the last one of what is around the text. */
export function RenderedMarkdown({ text, level }: { text: string; level: number }) {
  return (
    <div className="markdown">
      <Markdown
        remarkPlugins={[remarkGfm, [nestHeadings, level]]}
        components={{
          a: ({ href, children }) => (
            <a href={href} rel="noreferrer noopener" target={href?.startsWith("/") ? undefined : "_blank"}>
              {children}
            </a>
          ),
          input: ({ checked }) => (
            <span role="img" aria-label={checked ? "done" : "open"}>
              {checked ? "☑" : "☐"}
            </span>
          ),
          table: ({ children }) => (
            // biome-ignore lint/a11y/noNoninteractiveTabindex: a wide table scrolls, also by keyboard
            <section className="scroll-x" aria-label="Table" tabIndex={0}>
              <table>{children}</table>
            </section>
          ),
        }}
      >
        {text}
      </Markdown>
    </div>
  );
}

/** Headings start at `level` and skip no level, whatever the text starts with and skips. */
function nestHeadings(level: number): (root: Node) => void {
  return root => {
    const open: number[] = []; // the depths of the headings around the current one
    const visit = (node: Node) => {
      if (node.type === "heading" && node.depth !== undefined) {
        while ((open.at(-1) ?? 0) >= node.depth) open.pop();
        open.push(node.depth);
        node.depth = Math.min(LOWEST, level + open.length - 1);
      }
      for (const child of node.children ?? []) visit(child);
    };
    visit(root);
  };
}
