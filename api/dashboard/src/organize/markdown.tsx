// Markdown as React elements, without HTML: raw tags in the text stay text, and links keep only safe protocols.
// Loaded when the first description is opened.
import Markdown from "react-markdown";
import remarkGfm from "remark-gfm";

export function RenderedMarkdown({ text }: { text: string }) {
  return (
    <div className="markdown">
      <Markdown
        remarkPlugins={[remarkGfm]}
        components={{
          // The headings of the page come before those of a description.
          h1: ({ children }) => <h3>{children}</h3>,
          h2: ({ children }) => <h4>{children}</h4>,
          h3: ({ children }) => <h5>{children}</h5>,
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
