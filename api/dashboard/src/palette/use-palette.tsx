// Opens the command palette by Ctrl-K or Cmd-K on every page; its code is loaded then.
import { lazy, type ReactNode, Suspense, useEffect, useState } from "react";

const load = () => import("./palette");
const Palette = lazy(() => load().then(({ Palette }) => ({ default: Palette })));

export function usePalette(): { open: () => void; palette: ReactNode } {
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey)
        return;
      event.preventDefault();
      if (!document.querySelector("dialog[open]")) setOpen(true);
    };
    window.addEventListener("keydown", onKeyDown);
    // Loaded ahead: what is typed right after the shortcut belongs to the palette.
    window.requestIdleCallback?.(() => void load().catch(() => undefined));
    return () => window.removeEventListener("keydown", onKeyDown);
  }, []);
  return {
    open: () => setOpen(true),
    palette: isOpen && (
      <Suspense>
        <Palette onClose={() => setOpen(false)} />
      </Suspense>
    ),
  };
}
