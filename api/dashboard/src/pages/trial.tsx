// The page of one trial: state, result compared with the best trial, curves, log, attempts, and files.

import { useEffect } from "react";
import { Link, Redirect, useSearch } from "wouter";
import { ApiError } from "../api";
import { ChartsOf } from "../charts/export-subject";
import { useConnection } from "../connection-status";
import { formatAgo, formatCount, formatDuration, formatNumber, formatTime, formatValue } from "../format";
import { useFocus } from "../live";
import { ruleOf } from "../sweep/sweep";
import { useSweep } from "../sweep/use-sweep";
import { samplerNote } from "../trials/parameter-origin-text";
import { trialHref } from "../trials/trial-references";
import { withQuery } from "../url-query-state";
import { formatMegabytes } from "../usage/measures";
import { useNow } from "../use-now";
import { ButtonLink } from "../widgets/button";
import { part } from "../widgets/lazy-part";
import { NotFound } from "../widgets/not-found";
import { Panel } from "../widgets/panel";
import { QueryResult } from "../widgets/query-states";
import { Stat, Stats } from "../widgets/stats";
import { Attempts, causeLabel } from "./trial/attempts";
import { TrialCurves, useLatest } from "./trial/curves";
import { Files, isImage } from "./trial/files";
import { TrialHead } from "./trial/header";
import { Log } from "./trial/log";
import { MetricTable } from "./trial/metric-table";
import { NotesAndTags } from "./trial/notes-and-tags";
import { Parameters } from "./trial/parameter-comparison";
import { Schedule } from "./trial/population-schedule";
import { isOver, objectiveNames, type Sweep, type Trial, useTrial, useTrialId } from "./trial/queries";
import "./trial/trial.css";

const Resources = part("the resources", () => import("../usage/trial-resources").then(module => module.Resources), 0);
const Images = part("the images", () => import("./trial/images").then(module => module.Images), 0);

export function TrialPage({ sweepId, number }: { sweepId: number; number: number }) {
  const found = useTrialId(sweepId, number);
  if (isMissing(found))
    return (
      <NotFound title={`Trial ${number} of sweep ${sweepId} not found`} hint="It may belong to another service.">
        <ButtonLink href={`/sweeps/${sweepId}`}>The sweep</ButtonLink>
      </NotFound>
    );
  return (
    <QueryResult query={found} rows={8} isPage>
      {trialId => <IdentifiedTrial trialId={trialId} />}
    </QueryResult>
  );
}

/** Addresses of earlier versions have the id of a trial: they lead to the address with its number. */
export function TrialRedirect({ trialId }: { trialId: number }) {
  const search = useSearch();
  const trial = useTrial(trialId);
  if (isMissing(trial))
    return (
      <NotFound
        title={`Trial id ${trialId} not found`}
        hint="It may belong to another service, or be a trial number instead of an id."
      >
        <ButtonLink href="/">All sweeps</ButtonLink>
      </NotFound>
    );
  return (
    <QueryResult query={trial} rows={8} isPage>
      {({ sweep_id, number }) => (
        <Redirect to={withQuery(trialHref(sweep_id, number), new URLSearchParams(search))} replace />
      )}
    </QueryResult>
  );
}

function isMissing({ data, error }: { data: unknown; error: unknown }): boolean {
  return data === undefined && error instanceof ApiError && error.status === 404;
}

function IdentifiedTrial({ trialId }: { trialId: number }) {
  useFocus({ trial: trialId });
  const trial = useTrial(trialId);
  const sweep = useSweep(trial.data?.sweep_id).data;
  return (
    <QueryResult query={trial} rows={8} isPage>
      {found => {
        const own = sweep?.id === found.sweep_id ? sweep : undefined;
        return (
          <ChartsOf subject={`${own?.name ?? `sweep ${found.sweep_id}`}, trial ${found.number}`}>
            <TrialView key={found.id} trial={found} sweep={own} />
          </ChartsOf>
        );
      }}
    </QueryResult>
  );
}

function TrialView({ trial, sweep }: { trial: Trial; sweep: Sweep | undefined }) {
  useEffect(() => {
    const before = document.title;
    document.title = `Trial ${trial.number}${sweep ? ` · ${sweep.name}` : ""} · Podium`;
    return () => {
      document.title = before;
    };
  }, [trial.number, sweep]);
  const attributes = Object.entries(trial.user_attrs);
  return (
    <>
      <TrialHead trial={trial} sweep={sweep} />
      <Panel>
        <Figures trial={trial} sweep={sweep} />
      </Panel>
      <div className="trial-columns">
        <div>
          <Parameters trial={trial} sweep={sweep} />
          <NotesAndTags trial={trial} />
          <Files trial={trial} />
          {attributes.length > 0 && (
            <Panel title="Attributes set by the trial">
              <dl className="trial-attributes">
                {attributes.map(([name, value]) => (
                  <div key={name} className="trial-attribute">
                    <dt className="mono">{name}</dt>
                    <dd>{formatValue(value)}</dd>
                  </div>
                ))}
              </dl>
            </Panel>
          )}
        </div>
        <div>
          {trial.state === "failed" && <Attempts trial={trial} />}
          <Log trial={trial} />
          <MetricTable trial={trial} />
          <Resources trial={trial} />
          {trial.artifacts.some(isImage) && <Images trial={trial} />}
          <Schedule trial={trial} sweep={sweep} />
          {trial.state !== "failed" && <Attempts trial={trial} />}
        </div>
      </div>
      <TrialCurves trial={trial} />
    </>
  );
}

type FiguresProps = { trial: Trial; sweep: Sweep | undefined };

function Figures({ trial, sweep }: FiguresProps) {
  const objective = objectiveNames(sweep)[0];
  const metric = objective ?? "Value";
  const found = useLatest(trial, objective);
  const latest = isOver(trial) ? undefined : found;
  const { lost } = useConnection();
  const now = useNow(!isOver(trial) && !lost);
  const current = trial.attempts.at(-1);
  const began = !isOver(trial) && current?.started_at && !current.ended_at ? Date.parse(current.started_at) : null;
  // While it runs: the earlier attempts, and the current one until now.
  const earlier = trial.attempts.slice(0, -1).reduce((sum, attempt) => sum + (attempt.duration_s ?? 0), 0);
  const lasted = began === null ? trial.running_s : earlier + Math.max(0, (now - began) / 1000);
  const values = trial.values ?? (trial.value === null ? {} : { [metric]: trial.value });
  return (
    <Stats>
      {Object.entries(values).map(([name, value], position) => (
        <Stat key={name} name={name} hint={position === 0 ? comparisonText(trial, sweep) : undefined}>
          {formatNumber(value, 5)}
        </Stat>
      ))}
      {trial.value === null && (
        <Stat name={metric} hint={latest ? `so far, at step ${formatCount(latest[0])}` : withoutValue(trial)}>
          {formatNumber(latest?.[1], 5)}
        </Stat>
      )}
      {Object.entries(trial.constraints).map(([name, amount]) => (
        <Stat key={name} name={`constraint ${name}`} hint={amount > 0 ? "violated: not eligible as best" : "holds"}>
          {formatNumber(amount)}
        </Stat>
      ))}
      <Stat name={isOver(trial) ? "Running time" : "Running for"} hint={startedWhen(trial, now)}>
        {formatDuration(lasted)}
      </Stat>
      <Stat name="Queued" hint="waiting for a device">
        {formatDuration(trial.queued_s)}
      </Stat>
      {trial.peak_memory_mb !== null && (
        <Stat name="Peak memory" hint={peakHint(trial)}>
          {formatMegabytes(trial.peak_memory_mb)}
        </Stat>
      )}
      <Stat name="Device" hint={deviceHint(trial)}>
        {trial.device ? <Link href="/devices">{trial.device}</Link> : "–"}
      </Stat>
      <Stat name="Sampler" hint={trial.cloned_from !== null ? <Origin id={trial.cloned_from} /> : samplerNote(trial)}>
        {trial.cloned_from === null ? trial.sampler : "hand"}
      </Stat>
      <Stat name="Id" hint="for the command line and REST">
        {trial.id}
      </Stat>
    </Stats>
  );
}

function deviceHint(trial: Trial): string | undefined {
  if (trial.attempts.at(-1)?.sending_files) return "free again: the trial sends its files to the head";
  return trial.attempt > 1 ? `attempt ${trial.attempt}` : undefined;
}

function peakHint(trial: Trial): string | undefined {
  if (trial.peak_gpu_memory_mb !== null) return `${formatMegabytes(trial.peak_gpu_memory_mb)} of the GPU`;
  const limit = trial.attempts.at(-1)?.memory_limit_mb ?? null;
  return limit === null || trial.attempts.at(-1)?.ranks.length ? undefined : `limit ${formatMegabytes(limit)}`;
}

function Origin({ id }: { id: number }) {
  const origin = useTrial(id).data;
  if (!origin) return <>cloned</>;
  return <Link href={trialHref(origin.sweep_id, origin.number)}>cloned from trial {origin.number}</Link>;
}

function withoutValue(trial: Trial): string | undefined {
  if (trial.cause) return causeLabel(trial.cause);
  return trial.state === "pruned" ? "pruned: other trials were better at its step" : undefined;
}

function startedWhen(trial: Trial, now: number): string {
  if (trial.state === "waiting") return "waiting for a device";
  if (trial.started_at === null) return "never started";
  return `started ${formatAgo(trial.started_at, now)}, ${formatTime(trial.started_at)}`;
}

function comparisonText(trial: Trial, sweep: Sweep | undefined): string | undefined {
  const best = sweep?.best;
  if (!best) return undefined;
  const rule = sweep ? ruleOf(sweep) : "";
  const by = rule && `, ${rule}`;
  if (best.trial_id === trial.id) return best.values ? "on the Pareto front" : `the best so far${by}`;
  return `best ${formatNumber(best.value, 5)}, trial ${best.number}${by}`;
}
