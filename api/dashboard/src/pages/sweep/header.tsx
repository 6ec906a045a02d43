// The header of a sweep's page: state and reason, progress, best value, remaining budget, and commands.

import { useEffect } from "react";
import { Link } from "wouter";
import { useConnection } from "../../connection-status";
import { formatDuration, formatNumber, formatShare } from "../../format";
import { NotifyButton } from "../../notifications/notify-button";
import { Description } from "../../organize/expandable-description";
import { SweepDetails } from "../../organize/sweep-details";
import { SweepActions } from "../../sweep/actions";
import { goalSign } from "../../sweep/best-value";
import { SweepChain } from "../../sweep/predecessors-and-successors";
import { SweepProgress } from "../../sweep/progress";
import { reasonText } from "../../sweep/state-reason";
import {
  budgetLines,
  countedOf,
  durationS,
  ENDED_STATES,
  formatEstimate,
  objectivesOf,
  ruleOf,
  type Sweep,
} from "../../sweep/sweep";
import { useSweep } from "../../sweep/use-sweep";
import { trialHref } from "../../trials/trial-references";
import { useNow } from "../../use-now";
import { CutName } from "../../widgets/cut-name";
import { PageHead } from "../../widgets/page-head";
import { Failure, Loading } from "../../widgets/query-states";
import { RelativeTime } from "../../widgets/relative-time";
import { StateBadge } from "../../widgets/state-badge";
import { Stat, Stats } from "../../widgets/stats";
import "./header.css";

export function SweepHeader({ sweepId }: { sweepId: number }) {
  const query = useSweep(sweepId);
  const sweep = query.data?.id === sweepId ? query.data : undefined;
  useEffect(() => {
    document.title = sweep ? titleOf(sweep) : `Sweep ${sweepId} · Podium`;
  }, [sweep, sweepId]);
  if (sweep) return <Head sweep={sweep} />;
  if (query.isError) return <Failure error={query.error} isPage onRetry={() => void query.refetch()} />;
  return <Loading rows={3} what="Loading the sweep" />;
}

/** The title of the tab: the progress of a sweep that has not ended, then its name. */
function titleOf(sweep: Sweep): string {
  const progress = ENDED_STATES.includes(sweep.state) ? "" : `${countedOf(sweep)}/${sweep.run_cap} · `;
  return `${progress}${sweep.name} · Podium`;
}

function Head({ sweep }: { sweep: Sweep }) {
  const above = (
    <>
      <Link href="/">Sweeps</Link> / {sweep.id} · submitted <RelativeTime time={sweep.created_at} />
    </>
  );
  return (
    <div className="sweep-head">
      <PageHead title={<CutName name={sweep.name} />} above={above}>
        <NotifyButton sweep={sweep} />
        <SweepActions sweep={sweep} />
      </PageHead>
      <p className="sweep-state">
        <StateBadge state={sweep.state} />
        {reasonText(sweep) && <span title={reasonText(sweep)}>{reasonText(sweep)}</span>}
      </p>
      <div className="sweep-second">
        <Figures sweep={sweep} />
        <SweepDetails sweep={sweep} />
      </div>
    </div>
  );
}

/** The description, the chain, the warnings and what failed after the search, below the head so that it stays small. */
export function SweepNotices({ sweepId }: { sweepId: number }) {
  const sweep = useSweep(sweepId).data;
  if (sweep?.id !== sweepId) return null;
  return (
    <div className="sweep-notices">
      <Description text={sweep.description ?? ""} />
      <SweepChain sweep={sweep} />
      {sweep.ensemble_error !== null && <p className="sweep-warning">Ensemble not built: {sweep.ensemble_error}</p>}
      {sweep.warnings.map(warning => (
        <p key={warning.code} className="sweep-warning sweep-warning-mild" role="status">
          <strong>Warning:</strong> {warning.message}
        </p>
      ))}
    </div>
  );
}

function Figures({ sweep }: { sweep: Sweep }) {
  return (
    <Stats>
      <Stat name="Trials">
        <SweepProgress sweep={sweep} wide />
      </Stat>
      <BestStat sweep={sweep} />
      <TimeStat sweep={sweep} />
      <Stat
        name="Devices in use"
        hint={
          sweep.device_busy_share === null ? undefined : `${formatShare(sweep.device_busy_share)} of all devices' time`
        }
      >
        {ENDED_STATES.includes(sweep.state) ? "none" : sweep.devices.length}
      </Stat>
      {budgetLines(sweep).map(line => (
        <Stat key={line.name} name={`Budget: ${line.name}`} hint={line.title}>
          {line.left}
        </Stat>
      ))}
    </Stats>
  );
}

function BestStat({ sweep }: { sweep: Sweep }) {
  const [first, ...others] = objectivesOf(sweep);
  const best = sweep.best;
  if (!first) return null;
  const name = `Best ${first.name} ${goalSign(first.goal)}`;
  if (!best) return <Stat name={name}>–</Stat>;
  const further = others.map(({ name: each }) => `${each} ${formatNumber(best.values?.[each])}`).join(", ");
  return (
    <Stat
      name={name}
      hint={
        <>
          <Link href={trialHref(sweep.id, best.number)}>trial {best.number}</Link>
          {ruleOf(sweep) && `, ${ruleOf(sweep)}`}
        </>
      }
    >
      <span className="sweep-best">{formatNumber(best.value)}</span>
      {further && <span className="stat-hint"> {further}</span>}
    </Stat>
  );
}

function TimeStat({ sweep }: { sweep: Sweep }) {
  const over = ENDED_STATES.includes(sweep.state);
  const { lost } = useConnection();
  const now = useNow(!over && !lost);
  const seconds = durationS(sweep, now);
  if (!over && !sweep.started_at && sweep.created_at) {
    return <Stat name="Queued for">{formatDuration(Math.max(0, (now - Date.parse(sweep.created_at)) / 1000))}</Stat>;
  }
  if (over || sweep.eta_s === null) {
    return <Stat name={over ? "Duration" : "Running for"}>{seconds === null ? "–" : formatDuration(seconds)}</Stat>;
  }
  return (
    <Stat name="Time left (max)" hint={seconds === null ? undefined : `${formatDuration(seconds)} so far`}>
      about {formatEstimate(sweep.eta_s)}
    </Stat>
  );
}
