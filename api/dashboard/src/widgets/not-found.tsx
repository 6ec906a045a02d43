// A page for unknown addresses, which also sets the document title.
import { type ReactNode, useEffect } from "react";
import { Empty } from "./query-states";

export function NotFound({ title, hint, children }: { title: string; hint: string; children: ReactNode }) {
  useEffect(() => {
    document.title = `${title} · Podium`;
  }, [title]);
  return (
    <Empty title={title} hint={hint} isPage>
      {children}
    </Empty>
  );
}
