// Commands on a sweep: pause, resume, stop, cancel, release, extend; each states its effect before it runs.
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, done } from "../api";
import { formatCount } from "../format";
import { keys } from "../query-keys";
import { useIsViewer } from "../use-session";
import { Button, ButtonLink } from "../widgets/button";
import { Confirm } from "../widgets/dialog";
import { Icon } from "../widgets/icon";
import { Menu } from "../widgets/menu";
import { attempt } from "../widgets/toast";
import { ExtendDialog } from "./extend";
import { type Command, can, type Sweep } from "./sweep";

type SweepCommand = "pause" | "resume" | "stop" | "cancel" | "release";
type OpenDialog = "stop" | "cancel" | "release" | "extend" | null;

function send(sweepId: number, command: SweepCommand): Promise<Sweep> {
  const where = { params: { path: { sweep_id: sweepId } } };
  if (command === "pause") return done(api.POST("/api/v1/sweeps/{sweep_id}/pause", where));
  if (command === "resume") return done(api.POST("/api/v1/sweeps/{sweep_id}/resume", where));
  if (command === "stop") return done(api.POST("/api/v1/sweeps/{sweep_id}/stop", where));
  if (command === "release") return done(api.POST("/api/v1/sweeps/{sweep_id}/release", where));
  return done(api.POST("/api/v1/sweeps/{sweep_id}/cancel", where));
}

export function SweepActions({ sweep }: { sweep: Sweep }) {
  const [dialog, setDialog] = useState<OpenDialog>(null);
  const [busy, setBusy] = useState<Command | null>(null);
  const queries = useQueryClient();
  const fresh = () => {
    void queries.invalidateQueries({ queryKey: keys.sweep(sweep.id) });
    void queries.invalidateQueries({ queryKey: keys.sweeps() });
  };
  const runNow = async (command: "pause" | "resume", doneText: string) => {
    setBusy(command);
    await attempt(() => send(sweep.id, command), doneText);
    setBusy(null);
    fresh();
  };
  const isViewer = useIsViewer();
  const isAllowed = (command: Command) => !isViewer && can(command, sweep);
  const running = sweep.counts.running ?? 0;
  const close = () => setDialog(null);
  return (
    <>
      {isAllowed("pause") && (
        <Button
          command
          busy={busy === "pause"}
          onClick={() => void runNow("pause", "Paused – running trials will finish")}
        >
          <Icon name="pause" size={15} /> Pause
        </Button>
      )}
      {isAllowed("resume") && (
        <Button command primary busy={busy === "resume"} onClick={() => void runNow("resume", "Sweep resumed")}>
          <Icon name="play" size={15} /> Resume
        </Button>
      )}
      {isAllowed("stop") && (
        <Button command onClick={() => setDialog("stop")}>
          <Icon name="stop" size={15} /> Stop
        </Button>
      )}
      {isAllowed("release") && (
        <Button onClick={() => setDialog("release")}>
          <Icon name="play" size={15} /> Release
        </Button>
      )}
      {isAllowed("extend") && (
        <Button command onClick={() => setDialog("extend")}>
          <Icon name="plus" size={15} /> Extend
        </Button>
      )}
      <Menu label={<Icon name="more" />} name="More" quiet>
        {!isViewer && (
          <ButtonLink quiet href={`/new?from=${sweep.id}`}>
            New sweep from this one
          </ButtonLink>
        )}
        <a className="button button-quiet" href={`/api/v1/sweeps/${sweep.id}/export.csv`} download>
          Download trials as CSV
        </a>
        <a className="button button-quiet" href={`/api/v1/sweeps/${sweep.id}/file`} download={`sweep-${sweep.id}.yaml`}>
          Download sweep file
        </a>
        {isAllowed("cancel") && (
          <Button command quiet danger onClick={() => setDialog("cancel")}>
            Cancel the sweep
          </Button>
        )}
      </Menu>
      {dialog === "stop" && (
        <Confirm
          title={`Stop ${sweep.name}?`}
          action="Stop the sweep"
          run={() => send(sweep.id, "stop").then(fresh)}
          onClose={close}
        >
          <p>
            No new trials will start. {running > 0 ? `${willFinish(running)}, and then the` : "The"} sweep will end as
            finished. You can extend it later.
          </p>
        </Confirm>
      )}
      {dialog === "cancel" && (
        <Confirm
          title={`Cancel ${sweep.name}?`}
          action="Cancel the sweep"
          dismiss="Keep running"
          danger
          run={() => send(sweep.id, "cancel").then(fresh)}
          onClose={close}
        >
          <p>
            {running > 0
              ? `${formatCount(running)} running ${running === 1 ? "trial" : "trials"} will be killed. `
              : ""}
            Finished trials are kept. A cancelled sweep cannot be resumed.
          </p>
        </Confirm>
      )}
      {dialog === "release" && (
        <Confirm
          title={`Release ${sweep.name}?`}
          action="Release the sweep"
          run={() => send(sweep.id, "release").then(fresh)}
          onClose={close}
        >
          <p>
            The sweep starts although not all sweeps before it have finished.
            {"fix_from" in sweep.spec && " Its fixed parameters get the values of the best trial so far."}
          </p>
        </Confirm>
      )}
      {dialog === "extend" && <ExtendDialog sweep={sweep} onDone={fresh} onClose={close} />}
    </>
  );
}

function willFinish(running: number): string {
  return `${formatCount(running)} running ${running === 1 ? "trial" : "trials"} will finish`;
}
