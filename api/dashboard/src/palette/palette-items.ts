// What the command palette offers for some words: actions of the page, then what the service has found.
import type { Schemas } from "../api";
import { shortcutsNow } from "../keyboard";
import { listWith, projectTerm } from "../organize/list-filter-terms";
import { trialHref } from "../trials/trial-references";
import { paletteActions } from "./palette-actions";

export type Found = Schemas["FoundView"];
export type Item = {
  key: string;
  group: "Actions" | "Found";
  name: string;
  detail: string;
  keys?: string; // its shortcut
  run?: () => void;
  href?: string;
  basket?: { kind: "sweeps" | "trials"; id: number };
};

const MAX_ACTIONS = 8;
const MOVES = ["j", "k", "x", "?"]; // meaningless in a list of actions, or the palette itself

/** The actions whose names contain all words. */
export function actionItems(words: string): Item[] {
  const parts = words.toLowerCase().split(/\s+/).filter(Boolean);
  const all: Item[] = [
    ...paletteActions().map(({ name, run }) => ({ key: `action ${name}`, name, detail: "", run })),
    ...shortcutsNow()
      .filter(({ key }) => !MOVES.includes(key))
      .map(({ area, key, does, run }) => ({
        key: `key ${area} ${key}`,
        name: capital(does),
        detail: area,
        keys: key,
        run,
      })),
  ].map(item => ({ ...item, group: "Actions" as const }));
  const matching = all.filter(item => parts.every(part => `${item.name} ${item.detail}`.toLowerCase().includes(part)));
  const distinct = new Map(matching.map(item => [item.name, item]));
  return [...distinct.values()].slice(0, MAX_ACTIONS);
}

export function foundItems(found: readonly Found[]): Item[] {
  return found.map(each => ({
    key: `${each.kind} ${each.id ?? each.name}`,
    group: "Found",
    name: each.name,
    detail: each.kind === "project" ? `project, ${each.detail}` : each.detail,
    href: hrefOf(each),
    basket:
      each.id !== null && (each.kind === "sweep" || each.kind === "trial")
        ? { kind: each.kind === "sweep" ? "sweeps" : "trials", id: each.id }
        : undefined,
  }));
}

function hrefOf({ kind, id, name, sweep_id, number }: Found): string {
  if (kind === "trial" && sweep_id !== null && number !== null) return trialHref(sweep_id, number);
  return kind === "project" ? listWith(projectTerm(name)) : `/${kind}s/${id}`;
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
