// The page of one ensemble: member health, a prediction to try, evaluations, member selection, and versions.

import { useEffect } from "react";
import { Link } from "wouter";
import { ApiError } from "../api";
import { ChartsOf } from "../charts/export-subject";
import { EnsembleActions } from "../ensembles/actions";
import { type Ensemble, MODES, RULES } from "../ensembles/ensemble-types-and-labels";
import { EvaluationPanel } from "../ensembles/evaluations-panel";
import { EventsPanel } from "../ensembles/events";
import { DriftPanel } from "../ensembles/input-drift";
import { MembersTable } from "../ensembles/member-health";
import { builtPrecisions, PrecisionTable } from "../ensembles/precision-comparison";
import { useEnsemble } from "../ensembles/queries";
import { TrafficPanel } from "../ensembles/request-statistics";
import { MemberSelection } from "../ensembles/selection-summary";
import { TryPanel } from "../ensembles/try-prediction";
import { VersionComparison } from "../ensembles/version-comparison";
import { Versions } from "../ensembles/versions";
import { formatCount, formatMs, formatNumber, formatShare } from "../format";
import { useFocus } from "../live";
import { ButtonLink } from "../widgets/button";
import { NotFound } from "../widgets/not-found";
import { PageHead } from "../widgets/page-head";
import { Panel } from "../widgets/panel";
import { QueryResult } from "../widgets/query-states";
import { StateBadge } from "../widgets/state-badge";
import { Stat, Stats } from "../widgets/stats";
import "./ensemble.css";

const OVER = new Set(["stopped", "retired"]);

export function EnsemblePage({ ensembleId }: { ensembleId: number }) {
  useFocus({ ensemble: ensembleId });
  const query = useEnsemble(ensembleId);
  const name = query.data?.name ?? `Ensemble ${ensembleId}`;
  useEffect(() => {
    document.title = `${name} · Podium`;
  }, [name]);
  if (query.data === undefined && query.error instanceof ApiError && query.error.status === 404)
    return (
      <NotFound title={`Ensemble ${ensembleId} not found`} hint="It may belong to another service.">
        <ButtonLink href="/ensembles">All ensembles</ButtonLink>
      </NotFound>
    );
  return (
    <QueryResult query={query} rows={6} isPage>
      {ensemble => (
        <ChartsOf subject={`${ensemble.name}, ensemble ${ensemble.id}`}>
          <EnsembleView ensemble={ensemble} />
        </ChartsOf>
      )}
    </QueryResult>
  );
}

function EnsembleView({ ensemble }: { ensemble: Ensemble }) {
  return (
    <>
      <PageHead
        title={
          <span className="ensemble-title">
            {ensemble.name} <StateBadge state={ensemble.state} />
          </span>
        }
        above={
          <>
            <Link href="/ensembles">Ensembles</Link>
            {ensemble.sweep_id !== null && (
              <>
                {" · from "}
                <Link href={`/sweeps/${ensemble.sweep_id}/ensemble`}>sweep {ensemble.sweep_id}</Link>
              </>
            )}
          </>
        }
      >
        <EnsembleActions ensemble={ensemble} />
      </PageHead>
      {ensemble.reason && (
        <p className={OVER.has(ensemble.state) ? "ensemble-reason ensemble-over" : "ensemble-reason"}>
          {ensemble.reason}
        </p>
      )}
      <Panel>
        <Facts ensemble={ensemble} />
      </Panel>
      <Panel title="Members" hint="Statistics of recent requests. The queue is the number of requests in flight.">
        <MembersTable ensemble={ensemble} />
      </Panel>
      <TrafficPanel ensembleId={ensemble.id} />
      <DriftPanel ensembleId={ensemble.id} />
      <Precisions ensemble={ensemble} />
      <TryPanel ensemble={ensemble} />
      <EvaluationPanel ensemble={ensemble} />
      <MemberSelection ensemble={ensemble} />
      <Versions ensemble={ensemble} />
      <VersionComparison ensemble={ensemble} />
      <EventsPanel ensembleId={ensemble.id} />
    </>
  );
}

function Precisions({ ensemble }: { ensemble: Ensemble }) {
  const members = builtPrecisions(ensemble);
  if (members.length === 0) return null;
  const limit = formatShare(ensemble.max_loss_increase, 2);
  const hint = `Measured on the calibration rows. A member stays in float32 if its loss rises by more than ${limit}, or if nothing is gained.`;
  return (
    <Panel title="Precision" hint={hint}>
      <PrecisionTable members={members} loss={ensemble.task === "classification" ? "Log loss" : "Squared error"} />
    </Panel>
  );
}

function Facts({ ensemble }: { ensemble: Ensemble }) {
  const ready = ensemble.members.filter(member => member.state === "ready" || member.state === "suspect").length;
  const classes = ensemble.task === "classification";
  const span = ensemble.devices === 1 ? "" : `, ${ensemble.devices} for each member`;
  return (
    <Stats>
      <Stat name="Members ready" hint={`quorum ${ensemble.quorum}`}>
        {ready} of {ensemble.members.length}
      </Stat>
      <Stat
        name="Combination rule"
        hint={ensemble.temperature === 1 ? undefined : `temperature ${formatNumber(ensemble.temperature)}`}
      >
        {RULES[ensemble.combine] ?? ensemble.combine}
      </Stat>
      <Stat name="Deadline">{formatMs(ensemble.deadline_ms)}</Stat>
      <Stat name="Execution mode" hint={`${ensemble.precision}, ${ensemble.placement} devices${span}`}>
        {MODES[ensemble.mode] ?? ensemble.mode}
      </Stat>
      <Stat name={classes ? "Classes" : "Values"} hint={`${formatCount(ensemble.features)} inputs`}>
        {formatCount(ensemble.classes.length)}
      </Stat>
      <Stat name="Version">{ensemble.version}</Stat>
    </Stats>
  );
}
