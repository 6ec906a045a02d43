// YAML syntax highlighting, line by line, so that long files stay fast.
import { memo } from "react";
import "./yaml.css";

type Token = { text: string; kind: "plain" | "comment" | "text" | "key" | "number" | "word" };

const PARTS =
  /(?<comment>(?<=^|\s)#.*$)|(?<text>"(?:\\.|[^"\\])*"|'(?:''|[^'])*')|(?<key>[\w.$-]+)(?=\s*:(?:\s|$))|(?<number>(?<![\w.-])-?\d[\d_]*\.?\d*(?:[eE][-+]?\d+)?(?![\w.-]))|(?<word>(?<![\w.-])(?:true|false|null)(?![\w.-]))/g;

/** The tokens of one line; concatenated they equal the line. */
export function tokensOf(line: string): Token[] {
  const tokens: Token[] = [];
  let end = 0;
  for (const match of line.matchAll(PARTS)) {
    if (match.index > end) tokens.push({ text: line.slice(end, match.index), kind: "plain" });
    const kind = Object.entries(match.groups ?? {}).find(([, text]) => text !== undefined)?.[0] ?? "plain";
    tokens.push({ text: match[0], kind: kind as Token["kind"] });
    end = match.index + match[0].length;
  }
  if (end < line.length) tokens.push({ text: line.slice(end), kind: "plain" });
  return tokens;
}

export const YamlLine = memo(function YamlLine({ line, invalid }: { line: string; invalid?: boolean }) {
  let at = 0;
  return (
    <span className={invalid ? "yaml-line yaml-wrong" : "yaml-line"}>
      {tokensOf(line).map(token => {
        const key = at;
        at += token.text.length;
        return token.kind === "plain" ? (
          token.text
        ) : (
          <span key={key} className={`yaml-${token.kind}`}>
            {token.text}
          </span>
        );
      })}
      {"\n"}
    </span>
  );
});

/** A whole file, read-only. */
export function Yaml({ text, label }: { text: string; label: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable areas must be reachable by keyboard
    <section className="yaml" aria-label={label} tabIndex={0}>
      <pre className="yaml-text-block">
        {numbered(text.trimEnd()).map(([number, line]) => (
          <YamlLine key={number} line={line} />
        ))}
      </pre>
    </section>
  );
}

export function numbered(text: string): [number, string][] {
  return text.split("\n").map((line, index) => [index + 1, line]);
}
