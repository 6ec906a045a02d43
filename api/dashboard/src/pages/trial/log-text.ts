// The text of a log: control sequences removed, split into chunks, searchable.

// biome-ignore lint/suspicious/noControlCharactersInRegex: these characters are removed
const ESCAPES = /\u001b\[[0-9;?]*[ -/]*[@-~]|\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)|\u001b[@-Z\\-_]/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: these characters are removed
const CONTROLS = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/g;

export const MAX_SHOWN = 2_000_000; // characters; earlier output is in the download
export const CHUNK_LINES = 200;
const MAX_MATCHES = 5_000;

/** Lines as a terminal would show them: text overwritten after a carriage return is dropped. */
export function linesOf(text: string): string[] {
  return text
    .replace(ESCAPES, "")
    .split("\n")
    .map(line => {
      const visible = line.replace(/\r+$/, "");
      return visible.slice(visible.lastIndexOf("\r") + 1).replace(CONTROLS, "");
    });
}

/** Chunks of lines. Chunks before the last never change while a log grows, so they are not rendered again. */
export function chunksOf(lines: readonly string[]): string[] {
  const chunks: string[] = [];
  const count = lines.at(-1) === "" ? lines.length - 1 : lines.length; // a final line break does not start another line
  for (let start = 0; start < count; start += CHUNK_LINES)
    chunks.push(lines.slice(start, Math.min(count, start + CHUNK_LINES)).join("\n"));
  return chunks;
}

export type Match = { chunk: number; start: number };

/** The positions of `wanted`, ignoring case. */
export function matchesOf(chunks: readonly string[], query: string): Match[] {
  const needle = query.toLowerCase();
  if (needle === "") return [];
  const found: Match[] = [];
  for (const [chunk, text] of chunks.entries()) {
    const low = text.toLowerCase();
    for (let start = low.indexOf(needle); start >= 0; start = low.indexOf(needle, start + needle.length)) {
      found.push({ chunk, start });
      if (found.length === MAX_MATCHES) return found;
    }
  }
  return found;
}

/** The end of a text that is short enough to show, starting at the beginning of a line. */
export function shownEnd(text: string): string {
  if (text.length <= MAX_SHOWN) return text;
  const cut = text.slice(text.length - MAX_SHOWN);
  return cut.slice(cut.indexOf("\n") + 1);
}
