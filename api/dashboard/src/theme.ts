// Dark or light theme, following the system unless the user has selected one, and theme.css tokens for canvases.
import { useSyncExternalStore } from "react";

export type Theme = "light" | "dark";
export type ThemeChoice = Theme | "system";

const KEY = "podium.theme";
const listeners = new Set<() => void>();
const system = window.matchMedia?.("(prefers-color-scheme: dark)");

function chosen(): ThemeChoice {
  const found = readStored();
  return found === "light" || found === "dark" ? found : "system";
}

function readStored(): string | null {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null; // storage is disabled: the system decides
  }
}

function current(): Theme {
  const choice = chosen();
  if (choice !== "system") return choice;
  return system?.matches ? "dark" : "light";
}

export function applyTheme(): void {
  const theme = current();
  document.documentElement.dataset.theme = theme;
  tokens = new Map();
  for (const listener of listeners) listener();
}

export function chooseTheme(choice: ThemeChoice): void {
  try {
    if (choice === "system") localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, choice);
  } catch {
    // Storage is disabled: the choice lasts until the page is left.
    document.documentElement.dataset.theme = choice === "system" ? current() : choice;
  }
  applyTheme();
}

system?.addEventListener?.("change", applyTheme);

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** The current theme; canvases that draw with `token` depend on it. */
export function useTheme(): Theme {
  return useSyncExternalStore(subscribe, current);
}

let tokens = new Map<string, string>();

/** The value of a theme.css token in the current theme, for example `token("--line")`. */
export function token(name: string): string {
  let value = tokens.get(name);
  if (value === undefined) {
    value = getComputedStyle(document.documentElement).getPropertyValue(name).trim() || "#888";
    tokens.set(name, value);
  }
  return value;
}

export const SERIES = [1, 2, 3, 4, 5, 6, 7, 8].map(number => `--series-${number}`);

/** Draws with the tokens of the light theme, whatever the theme of the page is: a picture to print or to share. */
export function withLightTokens<T>(draw: () => T): T {
  const { dataset } = document.documentElement;
  const before = dataset.theme;
  const held = tokens;
  dataset.theme = "light";
  tokens = new Map();
  try {
    return draw();
  } finally {
    if (before === undefined) delete dataset.theme;
    else dataset.theme = before;
    tokens = held;
  }
}
