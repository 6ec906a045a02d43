// Actions that the page offers to the command palette while it is shown.
import { useEffect, useId } from "react";

export type PaletteAction = { name: string; run: () => void };

const registered = new Map<string, readonly PaletteAction[]>();

export function usePaletteActions(actions: readonly PaletteAction[]): void {
  const id = useId();
  useEffect(() => {
    registered.set(id, actions);
    return () => {
      registered.delete(id);
    };
  });
}

export function paletteActions(): PaletteAction[] {
  return [...registered.values()].flat();
}
