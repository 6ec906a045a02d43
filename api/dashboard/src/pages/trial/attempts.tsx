// The attempts of a trial, newest first: device, failure cause, and traceback.
import { formatDuration, formatTime } from "../../format";
import { useQueryState } from "../../url-query-state";
import { Button } from "../../widgets/button";
import { CopyButton } from "../../widgets/copy-button";
import { Panel } from "../../widgets/panel";
import { StateBadge } from "../../widgets/state-badge";
import type { Attempt, Trial } from "./queries";

/** Labels of the failure causes in docs/reference/failure-causes.md. */
const CAUSES: Record<string, string> = {
  user_error: "Exception",
  bad_report: "Non-numeric report",
  non_finite: "NaN or infinite report",
  exited: "Exited before the function returned",
  signal: "Killed by a signal",
  timeout: "Time limit",
  stalled: "No progress",
  disk_quota: "Disk quota exceeded",
  disk_full: "Disk full",
  pinning: "Device pinning error",
  host_memory: "Out of memory",
  device_memory: "Out of device memory",
  start_timeout: "Start timeout",
  join_timeout: "A rank did not join the others",
  infrastructure: "Worker lost",
  node_lost: "Node lost",
  cancelled: "Stopped on request",
};

export function causeLabel(cause: string): string {
  return CAUSES[cause] ?? cause.replaceAll("_", " ");
}

export function Attempts({ trial }: { trial: Trial }) {
  const newest = [...trial.attempts].reverse();
  return (
    <Panel
      title={trial.attempts.length > 1 ? `Attempts (${trial.attempts.length})` : "Attempt"}
      hint={trial.attempts.length === 0 ? "The trial is waiting for a device." : undefined}
    >
      {newest.length > 0 && (
        <ol className="trial-attempts" reversed>
          {newest.map(attempt => (
            <li key={attempt.number}>
              <OneAttempt attempt={attempt} latest={attempt.number === trial.attempt} many={newest.length > 1} />
            </li>
          ))}
        </ol>
      )}
    </Panel>
  );
}

function OneAttempt({ attempt, latest, many }: { attempt: Attempt; latest: boolean; many: boolean }) {
  const [, showLog] = useQueryState("attempt");
  return (
    <article className="trial-attempt">
      <header>
        <h3>Attempt {attempt.number}</h3>
        {attempt.state === "waiting" ? (
          <StateBadge state="finished" title="It ended an interval of training; the trial continues." />
        ) : (
          <StateBadge state={attempt.state ?? "running"} />
        )}
        <span className="trial-dim">
          on {devicesOf(attempt)}, {formatTime(attempt.started_at)}
          {attempt.duration_s !== null && `, ${formatDuration(attempt.duration_s)}`}
          {attempt.sending_files && ", sending its files"}
        </span>
        {many && (
          <Button small quiet onClick={() => showLog(latest ? "" : String(attempt.number))}>
            Show log
          </Button>
        )}
      </header>
      {attempt.cause && (
        <p>
          {causeLabel(attempt.cause)} <span className="trial-dim mono">({attempt.cause})</span>
        </p>
      )}
      {attempt.message && (
        <p className={attempt.state === "failed" ? "trial-message trial-message-failed mono" : "trial-message mono"}>
          {attempt.message}
        </p>
      )}
      {attempt.traceback && (
        <details open={latest} className="trial-traceback">
          <summary>Traceback</summary>
          <div className="trial-copy">
            <CopyButton text={attempt.traceback} what="the traceback" />
          </div>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable areas must be reachable by keyboard */}
          <pre tabIndex={0}>{attempt.traceback}</pre>
        </details>
      )}
      <p className="trial-dim">{factsOf(attempt).join(" · ")}</p>
      {(attempt.ranks ?? []).length > 0 && <Ranks attempt={attempt} />}
    </article>
  );
}

function devicesOf(attempt: Attempt): string {
  const devices = (attempt.ranks ?? []).map(rank => rank.device);
  return devices.length > 0 ? devices.join(", ") : attempt.device;
}

/** The ranks of an attempt with several devices, and how each ended; a device without a process has no state. */
function Ranks({ attempt }: { attempt: Attempt }) {
  return (
    <details className="trial-ranks">
      <summary>{attempt.ranks.length} devices</summary>
      <table aria-label={`Ranks of attempt ${attempt.number}`}>
        <thead>
          <tr>
            {["Rank", "Device", "State", "Exit", "Cause"].map(name => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {attempt.ranks.map(rank => (
            <tr key={rank.rank}>
              <td>{rank.rank}</td>
              <td className="mono">{rank.device}</td>
              <td>{rank.state ?? (attempt.state === null ? "running" : "–")}</td>
              <td className="mono">{rank.exit ?? ""}</td>
              <td title={rank.message ?? undefined}>{rank.cause === null ? "" : causeLabel(rank.cause)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </details>
  );
}

function factsOf(attempt: Attempt): string[] {
  const facts = [`process ${attempt.pid ?? "not started"}`];
  if (attempt.import_s) facts.push(`program loaded in ${formatDuration(attempt.import_s)}`);
  if (attempt.torch_device) facts.push(`torch device ${attempt.torch_device}`);
  if (attempt.devices < 1) facts.push(`${Math.round(100 * attempt.devices)} % of its device`);
  if (attempt.visible_devices) facts.push(`visible devices ${attempt.visible_devices}`);
  const isReported = attempt.state === "failed" && attempt.exit === "0"; // the attempt reported the failure itself
  if (attempt.exit !== null && !isReported)
    facts.push(/^-?\d+$/.test(attempt.exit) ? `exit status ${attempt.exit}` : attempt.exit);
  if (attempt.orphans_killed > 0) facts.push(`${attempt.orphans_killed} orphaned processes killed`);
  if (attempt.late_prune_answers > 0) facts.push(`${attempt.late_prune_answers} late pruning responses`);
  return facts;
}
