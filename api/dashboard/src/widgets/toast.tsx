// Toasts at the bottom of the page: results of actions and error messages.
import { useEffect, useSyncExternalStore } from "react";
import { useLocation } from "wouter";
import { Button } from "./button";
import { Icon } from "./icon";
import "./toast.css";

type Tone = "done" | "failed";
type Toast = { id: number; text: string; tone: Tone; at: number };

const SHOWN_MS = 6_000;
const READ_MS = 1_000; // a message shown right before a navigation belongs to that navigation
let toasts: readonly Toast[] = [];
let last = 0;
const listeners = new Set<() => void>();

function change(next: readonly Toast[]): void {
  toasts = next;
  for (const listener of listeners) listener();
}

function drop(id: number): void {
  change(toasts.filter(each => each.id !== id));
}

/** Shows a toast. An error stays until it is closed, also by Escape, or another page is opened. */
export function toast(text: string, tone: Tone = "done"): void {
  last += 1;
  const id = last;
  change([...toasts, { id, text, tone, at: Date.now() }]);
  if (tone === "done") setTimeout(() => drop(id), SHOWN_MS);
}

/** Runs a user command and shows `doneText`, or the error message if it fails. */
export async function attempt(run: () => Promise<unknown>, doneText: string): Promise<boolean> {
  try {
    await run();
  } catch (error) {
    toast(error instanceof Error ? error.message : String(error), "failed");
    return false;
  }
  toast(doneText);
  return true;
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Escape closes all toasts, unless a dialog, field or chart handles it. */
function onEscape(event: KeyboardEvent): void {
  if (event.key !== "Escape" || event.defaultPrevented || document.querySelector("dialog[open]")) return;
  if (toasts.length > 0) change([]);
}

export function Toasts() {
  const shown = useSyncExternalStore(subscribe, () => toasts);
  const [path] = useLocation();
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs when the page changes
  useEffect(() => {
    const isOfBefore = (each: Toast) => each.tone === "failed" && Date.now() - each.at > READ_MS;
    if (toasts.some(isOfBefore)) change(toasts.filter(each => !isOfBefore(each)));
  }, [path]);
  useEffect(() => {
    window.addEventListener("keydown", onEscape);
    return () => window.removeEventListener("keydown", onEscape);
  }, []);
  return (
    <div className="toasts" aria-live="polite">
      {shown.map(each => (
        <div key={each.id} className={`toast toast-${each.tone}`} role={each.tone === "failed" ? "alert" : undefined}>
          <span>{each.text}</span>
          <Button quiet small title="Close" onClick={() => drop(each.id)}>
            <Icon name="close" size={14} />
          </Button>
        </div>
      ))}
    </div>
  );
}
