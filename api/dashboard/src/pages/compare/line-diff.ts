// The lines of two files side by side: removed, added and equal ones; long equal parts are folded. By jsdiff.
import { diffLines } from "diff";

export type Line =
  | { kind: "same" | "added" | "removed"; text: string; left: number | null; right: number | null }
  | { kind: "folded"; lines: number };

const CONTEXT = 3; // equal lines around a change
const FOLDED_FROM = 2 * CONTEXT + 2; // fewer are shown

export function lineDiff(left: string, right: string): Line[] {
  const found: Line[] = [];
  let [at, other] = [1, 1];
  const parts = diffLines(ended(left), ended(right));
  for (const [index, part] of parts.entries()) {
    const texts = part.value.replace(/\n$/, "").split("\n");
    if (part.removed) for (const text of texts) found.push({ kind: "removed", text, left: at++, right: null });
    else if (part.added) for (const text of texts) found.push({ kind: "added", text, left: null, right: other++ });
    else {
      const same = texts.map(text => ({ kind: "same" as const, text, left: at++, right: other++ }));
      found.push(...folded(same, index === 0, index === parts.length - 1));
    }
  }
  return found;
}

function ended(text: string): string {
  return text === "" || text.endsWith("\n") ? text : `${text}\n`;
}

function folded(lines: readonly Line[], isFirst: boolean, isLast: boolean): Line[] {
  const [before, after] = [isFirst ? 0 : CONTEXT, isLast ? 0 : CONTEXT];
  if (lines.length < FOLDED_FROM || lines.length <= before + after) return [...lines];
  const hidden = lines.length - before - after;
  return [...lines.slice(0, before), { kind: "folded", lines: hidden }, ...lines.slice(lines.length - after)];
}

export function countChanges(lines: readonly Line[]): { added: number; removed: number } {
  return {
    added: lines.filter(line => line.kind === "added").length,
    removed: lines.filter(line => line.kind === "removed").length,
  };
}
