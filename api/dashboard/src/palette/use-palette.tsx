// Opens the command palette by Ctrl-K or Cmd-K on every page; its code is loaded then.
import { lazy, type ReactNode, Suspense, useEffect, useState } from "react";

const Palette = lazy(() => import("./palette").then(({ Palette }) => ({ default: Palette })));

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
