// Which trial the side panel of the table shows: it is in the URL, and follows the row with the keyboard cursor.
import { useEffect, useState } from "react";
import { useQueryState } from "../url-query-state";
import type { Row, Trials } from "./use-table-windows";

type Shown = { id: number; number: number };

export type SidePanel = {
  shown: Shown | null;
  isOpen: boolean;
  open: (row: Row) => void;
  close: () => void;
};

/** `find` moves the cursor to a trial by its number, which a link to an open panel needs. */
export function useSidePanel(
  trials: Trials | null,
  active: number | null,
  setActive: (index: number) => void,
  find: (number: number) => void,
): SidePanel {
  const [text, setText] = useQueryState("trial");
  const [shown, setShown] = useState<Shown | null>(null);
  const [cursor, setCursor] = useState(active); // where the panel has followed to
  const isOpen = /^\d+$/.test(text);
  const row = active === null ? undefined : trials?.row(active);
  const open = (of: Row) => {
    setShown({ id: of.id, number: of.number });
    setText(String(of.number));
  };
  // The cursor was moved: the panel follows, as soon as the row is loaded.
  useEffect(() => {
    if (active === cursor || !row) return;
    setCursor(active);
    if (isOpen) open(row);
  });
  // The rows were sorted again while the panel is open: the cursor follows the trial.
  useEffect(() => {
    if (!isOpen || !shown || !trials || active === null || active !== cursor || !row || row.id === shown.id) return;
    const now = indexOf(shown.id, active, trials);
    if (now === null) return;
    setCursor(now);
    setActive(now);
  });
  const isMissing = isOpen && shown === null && trials !== null;
  // biome-ignore lint/correctness/useExhaustiveDependencies: once, for the trial in the URL
  useEffect(() => {
    if (isMissing && active === null) find(Number(text));
  }, [isMissing]);
  return {
    shown: isOpen ? shown : null,
    isOpen,
    open,
    close: () => {
      setShown(null);
      setText("");
    },
  };
}

const NEAR = 200;

/** The index of a trial among the loaded rows around an index; null if it is not among them. */
function indexOf(id: number, around: number, trials: Trials): number | null {
  for (let by = 1; by <= NEAR; by += 1)
    for (const index of [around - by, around + by]) if (trials.row(index)?.id === id) return index;
  return null;
}
