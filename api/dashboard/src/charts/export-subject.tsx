// What the charts of a page are about, for the names of exported files. Apart, so that a page does not load charts for it.
import { createContext, type ReactNode } from "react";

export const Subject = createContext("podium");

/** Charts inside are about this: the name of a sweep, a trial or an ensemble. */
export function ChartsOf({ subject, children }: { subject: string; children: ReactNode }) {
  return <Subject value={subject}>{children}</Subject>;
}
