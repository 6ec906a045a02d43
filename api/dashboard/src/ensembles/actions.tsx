// Commands on an ensemble: start, stop, roll back, promote the canary, retire.
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { keys } from "../query-keys";
import { useCanEdit } from "../use-session";
import { Button } from "../widgets/button";
import { Confirm } from "../widgets/dialog";
import { attempt, toast } from "../widgets/toast";
import type { Ensemble } from "./ensemble-types-and-labels";
import { type Action, runAction } from "./queries";

export function useRunAction(ensemble: Ensemble) {
  const queries = useQueryClient();
  return async (action: Action) => {
    const after = await runAction(ensemble.id, action);
    queries.setQueryData(keys.ensemble(ensemble.id), after);
    void queries.invalidateQueries({ queryKey: keys.ensembles() });
  };
}

export function EnsembleActions({ ensemble }: { ensemble: Ensemble }) {
  const run = useRunAction(ensemble);
  const [confirming, setConfirming] = useState<"stop" | "retire" | null>(null);
  const [busy, setBusy] = useState(false);
  const start = async () => {
    setBusy(true);
    await attempt(() => run("start"), `Starting ${ensemble.name}`);
    setBusy(false);
  };
  const canEdit = useCanEdit();
  if (ensemble.state === "retired" || !canEdit) return null;
  return (
    <>
      {ensemble.state === "stopped" ? (
        <Button command primary busy={busy} onClick={() => void start()}>
          Start
        </Button>
      ) : (
        <Button command onClick={() => setConfirming("stop")}>
          Stop
        </Button>
      )}
      <Button command danger onClick={() => setConfirming("retire")}>
        Retire
      </Button>
      {confirming === "stop" && (
        <Confirm
          title={`Stop ${ensemble.name}?`}
          action="Stop"
          run={async () => {
            await run("stop");
            toast(`${ensemble.name} stopped`);
          }}
          onClose={() => setConfirming(null)}
        >
          <p>Its members stop and release their devices. Predictions are rejected until it is started again.</p>
        </Confirm>
      )}
      {confirming === "retire" && (
        <Confirm
          title={`Retire ${ensemble.name}?`}
          action="Retire"
          danger
          run={async () => {
            await run("retire");
            toast(`${ensemble.name} retired`);
          }}
          onClose={() => setConfirming(null)}
        >
          <p>This cannot be undone. The name stays reserved, and evaluations remain available.</p>
        </Confirm>
      )}
    </>
  );
}
