// The header of the trial page: the trial and its sweep, its neighbours, and commands.
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Link, useLocation } from "wouter";
import { BasketButton } from "../../basket/basket-button";
import { useKeys } from "../../keyboard";
import { restartWarning } from "../../sweep/sweep";
import { trialHref } from "../../trials/trial-references";
import { useCanEdit } from "../../use-session";
import { Button, ButtonLink } from "../../widgets/button";
import { Confirm } from "../../widgets/dialog";
import { Icon } from "../../widgets/icon";
import { PageHead } from "../../widgets/page-head";
import { StateBadge } from "../../widgets/state-badge";
import { attempt, toast } from "../../widgets/toast";
import { CloneDialog } from "./clone-dialog";
import { isOver, type Sweep, sendCommand, type Trial, useNeighbours } from "./queries";

const DOING: Record<string, string> = { stop: "stopping", retry: "retrying" };

export function TrialHead({ trial, sweep }: { trial: Trial; sweep: Sweep | undefined }) {
  const queries = useQueryClient();
  const [, go] = useLocation();
  const [asking, setAsking] = useState<"stop" | "retry" | "clone" | null>(null);
  const around = useNeighbours(trial).data;
  const canEdit = useCanEdit();
  const canStop = canEdit && !isOver(trial) && trial.requested === null;
  const canRetry = canEdit && ["failed", "cancelled"].includes(trial.state) && trial.requested === null;
  const acceptsTrials = sweep?.state !== "cancelled"; // a cancelled sweep accepts no trials
  const to = (number: number | null | undefined) => number != null && go(trialHref(trial.sweep_id, number));
  useKeys("Trial", {
    j: { does: "next trial", run: () => to(around?.after) },
    k: { does: "previous trial", run: () => to(around?.before) },
    c: { does: "clone this trial", run: () => canEdit && acceptsTrials && setAsking("clone") },
    u: { does: "go to the sweep", run: () => go(`/sweeps/${trial.sweep_id}`) },
  });
  const again = restartWarning(sweep?.state, "a retry");
  const retried = `Retrying trial ${trial.number}`;
  const retry = () =>
    again ? setAsking("retry") : void attempt(() => sendCommand(queries, trial.id, "retry"), retried);
  return (
    <>
      <PageHead
        title={
          <span className="trial-title">
            Trial {trial.number} <StateBadge state={trial.state} />
            {trial.requested && <span className="trial-dim trial-requested">{DOING[trial.requested]}</span>}
          </span>
        }
        above={
          <nav aria-label="Breadcrumb">
            <Link href="/">Sweeps</Link> /{" "}
            <Link href={`/sweeps/${trial.sweep_id}`}>{sweep?.name ?? `Sweep ${trial.sweep_id}`}</Link>
          </nav>
        }
      >
        <BasketButton kind="trials" id={trial.id} name={`trial ${trial.number}`} />
        <Step of={trial} to={around?.before} name="Previous trial (k)" icon="left" />
        <Step of={trial} to={around?.after} name="Next trial (j)" icon="right" />
        {canRetry && acceptsTrials && (
          <Button command onClick={retry}>
            {again ? "Retry…" : "Retry"}
          </Button>
        )}
        {canEdit && (
          <Button
            command
            disabled={!acceptsTrials}
            title={acceptsTrials ? undefined : "The sweep is cancelled and accepts no more trials"}
            onClick={() => setAsking("clone")}
          >
            Clone…
          </Button>
        )}
        {canStop && (
          <Button command danger onClick={() => setAsking("stop")}>
            Stop…
          </Button>
        )}
      </PageHead>
      {asking === "stop" && (
        <Confirm
          title={`Stop trial ${trial.number}?`}
          action="Stop the trial"
          danger
          run={async () => {
            await sendCommand(queries, trial.id, "stop");
            toast(`Stopping trial ${trial.number}`);
          }}
          onClose={() => setAsking(null)}
        >
          <p>The trial will be cancelled. The sweep continues with other trials, and you can retry this one later.</p>
        </Confirm>
      )}
      {asking === "retry" && (
        <Confirm
          title={`Retry trial ${trial.number}?`}
          action="Retry"
          run={async () => {
            await sendCommand(queries, trial.id, "retry");
            toast(retried);
          }}
          onClose={() => setAsking(null)}
        >
          <p>{again} It runs until this trial or a replacement has ended.</p>
        </Confirm>
      )}
      {asking === "clone" && <CloneDialog trial={trial} sweep={sweep} onClose={() => setAsking(null)} />}
    </>
  );
}

type StepProps = { of: Trial; to: number | null | undefined; name: string; icon: "left" | "right" };

function Step({ of, to, name, icon }: StepProps) {
  if (to == null)
    return (
      <Button quiet title={name} disabled>
        <Icon name={icon} />
      </Button>
    );
  return (
    <ButtonLink quiet href={trialHref(of.sweep_id, to)}>
      <span className="hidden-text">{name}</span>
      <Icon name={icon} />
    </ButtonLink>
  );
}
