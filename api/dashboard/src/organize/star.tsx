// The star of a sweep: a toggle for users who may change something, a sign for others.
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { Sweep } from "../sweep/sweep";
import { useIsViewer } from "../use-session";
import { Button } from "../widgets/button";
import { Icon } from "../widgets/icon";
import { toast } from "../widgets/toast";
import { changeDetails } from "./details";
import "./organize.css";

export function Star({ sweep }: { sweep: Sweep }) {
  const queries = useQueryClient();
  const isViewer = useIsViewer();
  const [busy, setBusy] = useState(false);
  if (isViewer) return null;
  const change = async () => {
    setBusy(true);
    try {
      await changeDetails(queries, sweep.id, { starred: !sweep.starred });
    } catch (error) {
      toast(error instanceof Error ? error.message : String(error), "failed");
    }
    setBusy(false);
  };
  return (
    <Button
      command
      quiet
      small
      busy={busy}
      className={sweep.starred ? "star star-on" : "star"}
      title={sweep.starred ? "Remove the star" : "Star"}
      aria-label={`Star ${sweep.name}`}
      aria-pressed={sweep.starred}
      onClick={() => void change()}
    >
      <Icon name="star" size={16} />
    </Button>
  );
}
