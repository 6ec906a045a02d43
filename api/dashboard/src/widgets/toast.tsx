// Short notes at the foot of the page: what was done, or why not.
import { useSyncExternalStore } from "react";
import { Button } from "./button";
import { Icon } from "./icon";
import "./toast.css";

type Tone = "done" | "failed";
type Toast = { id: number; text: string; tone: Tone };

const SHOWN_MS = 6_000;
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

/** Say something. A failure stays until it is closed. */
export function toast(text: string, tone: Tone = "done"): void {
  last += 1;
  const id = last;
  change([...toasts, { id, text, tone }]);
  if (tone === "done") setTimeout(() => drop(id), SHOWN_MS);
}

/** Run a command of the user's: say `done` when it is, and why not when it is refused. */
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

export function Toasts() {
  const shown = useSyncExternalStore(subscribe, () => toasts);
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
