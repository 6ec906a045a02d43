// Opens the command palette by Ctrl-K or Cmd-K on every page; its code is loaded then.
import { type ReactNode, useEffect, useState } from "react";
import { part, useLoadedAhead } from "../widgets/lazy-part";

const Palette = part("the palette", () => import("./palette").then(module => module.Palette), 0);
const AHEAD = [Palette]; // what is typed right after the shortcut belongs to the palette

export function usePalette(): { open: () => void; palette: ReactNode } {
  const [isOpen, setOpen] = useState(false);
  useLoadedAhead(AHEAD);
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
    palette: isOpen && <Palette onClose={() => setOpen(false)} />,
  };
}
