// Whether the window is as narrow as that of a phone; changes with its size, also by a rotation.
import { useSyncExternalStore } from "react";

const NARROWEST_DESK = 500; // px

export function useIsPhone(): boolean {
  return useSyncExternalStore(followSize, () => window.innerWidth < NARROWEST_DESK);
}

function followSize(onChange: () => void): () => void {
  window.addEventListener("resize", onChange);
  return () => window.removeEventListener("resize", onChange);
}
