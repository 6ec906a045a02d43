// Keyboard shortcuts: each page registers its keys, `?` lists them all. Keys typed into fields are ignored.
import { useEffect, useId, useSyncExternalStore } from "react";
import { Dialog } from "./widgets/dialog";
import "./keyboard.css";

export type Keys = Record<string, { does: string; run: () => void }>;

const SEQUENCE_MS = 800;
const registered = new Map<string, { area: string; keys: Keys }>();
const listeners = new Set<() => void>();
let version = 0;
let prefix: { key: string; at: number } | null = null;

function changed(): void {
  version += 1;
  for (const listener of listeners) listener();
}

/** Registers `keys` ("j", "/", "Escape", or the sequence "g d") while the component is mounted. */
export function useKeys(area: string, keys: Keys): void {
  const id = useId();
  useEffect(() => {
    registered.set(id, { area, keys });
    changed();
    return () => {
      registered.delete(id);
      changed();
    };
  });
}

/** Whether the focused element handles a key itself: letters in fields, arrows also where they scroll or move, Enter on
 * what it activates. */
function isTaken({ key, target }: KeyboardEvent): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (key === "Enter" && target.matches("a, button, summary, [role]")) return true;
  const fields = key.startsWith("Arrow") ? "input, textarea, select, [tabindex='0']" : "input, textarea, select";
  return target.isContentEditable || target.matches(fields);
}

function actionOf(key: string): (() => void) | undefined {
  for (const { keys } of [...registered.values()].reverse()) if (keys[key]) return keys[key].run;
  return undefined;
}

function handle(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isTaken(event)) return;
  if (document.querySelector("dialog[open]")) return;
  const now = performance.now();
  const sequence = prefix && now - prefix.at < SEQUENCE_MS ? `${prefix.key} ${event.key}` : "";
  const run = (sequence && actionOf(sequence)) || actionOf(event.key);
  prefix = { key: event.key, at: now };
  if (!run) return;
  event.preventDefault();
  prefix = null;
  run();
}

export function useKeyboard(): void {
  useEffect(() => {
    window.addEventListener("keydown", handle);
    return () => window.removeEventListener("keydown", handle);
  }, []);
}

/** The shortcuts that have an effect now, for the command palette. */
export function shortcutsNow(): { area: string; key: string; does: string; run: () => void }[] {
  return [...registered.values()].flatMap(({ area, keys }) =>
    Object.entries(keys).map(([key, { does, run }]) => ({ area, key, does, run })),
  );
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** The help that `?` opens. */
export function KeyboardHelp({ onClose }: { onClose: () => void }) {
  useSyncExternalStore(subscribe, () => version);
  const areas = new Map<string, Keys>();
  for (const { area, keys } of registered.values()) areas.set(area, { ...areas.get(area), ...keys });
  return (
    <Dialog title="Keyboard shortcuts" onClose={onClose}>
      <div className="keyboard-areas">
        {[...areas]
          .filter(([, keys]) => Object.keys(keys).length > 0)
          .map(([area, keys]) => (
            <section key={area}>
              <h3>{area}</h3>
              <dl className="keyboard-keys">
                {Object.entries(keys).map(([key, { does }]) => (
                  <div key={key}>
                    <dt>
                      {key.split(" ").map(part => (
                        <kbd key={part}>{part}</kbd>
                      ))}
                    </dt>
                    <dd>{does}</dd>
                  </div>
                ))}
              </dl>
            </section>
          ))}
      </div>
    </Dialog>
  );
}
