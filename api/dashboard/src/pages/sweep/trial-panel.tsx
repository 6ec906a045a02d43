// The side panel of the table: error, parameters, curves and the end of the log of one trial, while the table stays in view.
import { useMemo } from "react";
import { Link } from "wouter";
import { useFreshness } from "../../charts/queries";
import { CurveGrid } from "../../curves/grid";
import { formatDuration, formatNumber } from "../../format";
import { useSweep } from "../../sweep/use-sweep";
import { trialHref } from "../../trials/trial-references";
import { METRIC_NAMES, useMetricNames } from "../../trials/use-metric-names";
import { useDebounced } from "../../use-debounced";
import { Button, ButtonLink } from "../../widgets/button";
import { Icon } from "../../widgets/icon";
import { QueryResult } from "../../widgets/query-states";
import { StateBadge } from "../../widgets/state-badge";
import { causeLabel } from "../trial/attempts";
import { Parameters } from "../trial/parameter-comparison";
import { objectiveNames, type Sweep, type Trial, useTrial } from "../trial/queries";
import { useLog } from "../trial/use-log";
import "../trial/trial.css";
import "./trial-panel.css";

const REST_MS = 120; // rows that are only passed by are not fetched
const LOG_LINES = 40;
const MOST_CURVES = 4;

export type PanelProps = { sweepId: number; trialId: number; number: number; onClose: () => void };

export function TrialPanel({ sweepId, trialId, number, onClose }: PanelProps) {
  const sweep = useSweep(sweepId).data;
  const rested = useDebounced(trialId, REST_MS);
  const trial = useTrial(rested);
  return (
    <aside className="trial-panel" aria-label={`Trial ${number}`}>
      <header className="trial-panel-head">
        <h2>
          <Link href={trialHref(sweepId, number)}>Trial {number}</Link>
        </h2>
        {trial.data?.id === trialId && <StateBadge state={trial.data.state} />}
        <span className="trial-panel-actions">
          <ButtonLink small href={trialHref(sweepId, number)}>
            Open page
          </ButtonLink>
          <Button small quiet title="Close the side panel (Escape)" onClick={onClose}>
            <Icon name="close" size={14} />
          </Button>
        </span>
      </header>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable areas must be reachable by keyboard */}
      <div className="trial-panel-body" tabIndex={0} key={trialId}>
        {rested === trialId && (
          <QueryResult query={trial} rows={8}>
            {found => (found.id === trialId ? <Content trial={found} sweep={sweep} /> : null)}
          </QueryResult>
        )}
      </div>
    </aside>
  );
}

function Content({ trial, sweep }: { trial: Trial; sweep: Sweep | undefined }) {
  return (
    <>
      <Failure trial={trial} />
      <Results trial={trial} sweep={sweep} />
      <Parameters trial={trial} sweep={sweep} />
      <Curves trial={trial} />
      <LogEnd trial={trial} />
    </>
  );
}

function Failure({ trial }: { trial: Trial }) {
  const last = trial.attempts.at(-1);
  if (!last?.cause || trial.state === "waiting") return null;
  return (
    <section className="trial-panel-failure" aria-label="Failure">
      <p>
        <strong>{causeLabel(last.cause)}</strong>
        {trial.attempts.length > 1 && ` in attempt ${last.number}`}
      </p>
      {last.message && <p className="mono">{last.message}</p>}
      {last.traceback && (
        <details>
          <summary>Traceback</summary>
          <pre>{last.traceback}</pre>
        </details>
      )}
    </section>
  );
}

function Results({ trial, sweep }: { trial: Trial; sweep: Sweep | undefined }) {
  const names = objectiveNames(sweep);
  const values = trial.values ?? (trial.value === null ? {} : { [names[0] ?? "value"]: trial.value });
  const ran =
    trial.started_at && trial.ended_at ? (Date.parse(trial.ended_at) - Date.parse(trial.started_at)) / 1000 : null;
  return (
    <p className="trial-panel-results">
      {Object.entries(values).map(([name, value]) => (
        <span key={name}>
          {name} <strong>{formatNumber(value, 5)}</strong>
        </span>
      ))}
      {ran !== null && <span>{formatDuration(ran)}</span>}
      {trial.device && <span>{trial.device}</span>}
      {trial.attempts.length > 1 && <span>{trial.attempts.length} attempts</span>}
    </p>
  );
}

/** The curves of the objectives and the next metrics; the page has all of them. */
function Curves({ trial }: { trial: Trial }) {
  const filter = `id:${trial.id}`;
  useFreshness(trial.sweep_id, METRIC_NAMES);
  const { query } = useMetricNames(trial.sweep_id, filter);
  return (
    <section aria-label="Curves">
      <h3>Curves</h3>
      <QueryResult query={query} rows={4}>
        {metrics => {
          const hidden = metrics.length - MOST_CURVES;
          if (metrics.length === 0) return <p className="trial-none">No metrics reported</p>;
          return (
            <>
              <CurveGrid
                sweepId={trial.sweep_id}
                filter={filter}
                metrics={metrics.slice(0, MOST_CURVES)}
                trialId={trial.id}
                isPlain
              />
              {hidden > 0 && (
                <p>
                  <Link href={trialHref(trial.sweep_id, trial.number)}>
                    {hidden} more {hidden === 1 ? "metric" : "metrics"}
                  </Link>
                </p>
              )}
            </>
          );
        }}
      </QueryResult>
    </section>
  );
}

/** The last lines of the last attempt's output, with those that are being written. */
function LogEnd({ trial }: { trial: Trial }) {
  const { log } = useLog(trial.id, trial.attempt, trial.state === "running");
  const lines = useMemo(() => log.text.trimEnd().split("\n").slice(-LOG_LINES), [log.text]);
  if (trial.attempt === 0) return null;
  return (
    <section aria-label="End of the log">
      <h3>Log</h3>
      {log.status === "there" ? (
        <pre className="trial-panel-log">{lines.join("\n")}</pre>
      ) : (
        <p className="trial-none">
          {log.status === "failed"
            ? "The log could not be loaded."
            : log.status === "loading"
              ? "Loading…"
              : "No output"}
        </p>
      )}
    </section>
  );
}
