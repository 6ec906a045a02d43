// The search of a picker: which options match the text, and in which order.
import type { Option } from "./select";

export const MOST_SHOWN = 100;

/** The options that contain each word of `text`; those that start with it come first. */
export function searchOptions<T extends Option>(options: readonly T[], text: string): T[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return [...options];
  const found = options.filter(({ name }) => words.every(word => name.toLowerCase().includes(word)));
  const rank = ({ name }: T) => {
    const lower = name.toLowerCase();
    if (lower === text.toLowerCase().trim()) return 0;
    if (lower.startsWith(words[0] ?? "")) return 1;
    return lower.split(/[/._ ]/).some(part => part.startsWith(words[0] ?? "")) ? 2 : 3;
  };
  return found
    .map((option, at) => ({ option, at, by: rank(option) }))
    .sort(byRank)
    .map(({ option }) => option);
}

function byRank(one: { at: number; by: number }, other: { at: number; by: number }): number {
  return one.by - other.by || one.at - other.at;
}
