// What an address that leads to nothing shows; the tab is called so too, not like the page before.
import { type ReactNode, useEffect } from "react";
import { Empty } from "./states";

export function Missing({ title, hint, children }: { title: string; hint: string; children: ReactNode }) {
  useEffect(() => {
    document.title = `${title} · Podium`;
  }, [title]);
  return (
    <Empty title={title} hint={hint}>
      {children}
    </Empty>
  );
}
