// For tests: the `update` of a draft whose file does not change.
import type { Draft, Parsed } from "./sweep-file-draft";

export function updateOf(change: Draft["change"], current: Parsed): Draft["update"] {
  return changesFor => {
    const changes = changesFor(current);
    return changes.length === 0 ? Promise.resolve() : change(changes);
  };
}
