// Commands on an ensemble: start, stop, roll back, promote the canary, retire.
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { keys } from "../keys";
import { useMayChange } from "../session";
import { Button } from "../widgets/button";
import { Confirm } from "../widgets/dialog";
import { attempt, toast } from "../widgets/toast";
import { type Action, act } from "./queries";
import type { Ensemble } from "./types";

export function useAct(ensemble: Ensemble) {
  const queries = useQueryClient();
  return async (action: Action) => {
    const after = await act(ensemble.id, action);
    queries.setQueryData(keys.ensemble(ensemble.id), after);
    void queries.invalidateQueries({ queryKey: keys.ensembles() });
  };
}

export function EnsembleActions({ ensemble }: { ensemble: Ensemble }) {
  const run = useAct(ensemble);
  const [asked, setAsked] = useState<"stop" | "retire" | null>(null);
  const [busy, setBusy] = useState(false);
  const start = async () => {
    setBusy(true);
    await attempt(() => run("start"), `${ensemble.name} starts.`);
    setBusy(false);
  };
  const may = useMayChange();
  if (ensemble.state === "retired" || !may) return null;
  return (
    <>
      {ensemble.state === "stopped" ? (
        <Button primary busy={busy} onClick={() => void start()}>
          Start
        </Button>
      ) : (
        <Button onClick={() => setAsked("stop")}>Stop</Button>
      )}
      <Button danger onClick={() => setAsked("retire")}>
        Retire
      </Button>
      {asked === "stop" && (
        <Confirm
          title={`Stop ${ensemble.name}?`}
          action="Stop"
          run={async () => {
            await run("stop");
            toast(`${ensemble.name} stopped`);
          }}
          onClose={() => setAsked(null)}
        >
          <p>Its members stop and release their devices. Predictions are rejected until it is started again.</p>
        </Confirm>
      )}
      {asked === "retire" && (
        <Confirm
          title={`Retire ${ensemble.name}?`}
          action="Retire"
          danger
          run={async () => {
            await run("retire");
            toast(`${ensemble.name} retired`);
          }}
          onClose={() => setAsked(null)}
        >
          <p>This cannot be undone. The name stays reserved, and evaluations remain available.</p>
        </Confirm>
      )}
    </>
  );
}
