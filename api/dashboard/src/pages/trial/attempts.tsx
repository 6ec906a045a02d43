// The attempts of a trial, newest first: where each ran, why it failed, and its traceback.
import { formatDuration, formatTime } from "../../format";
import { useQueryState } from "../../url";
import { StateBadge } from "../../widgets/badge";
import { Button } from "../../widgets/button";
import { Copy } from "../../widgets/copy";
import { Panel } from "../../widgets/panel";
import type { Attempt, Trial } from "./data";

/** The causes of docs/sweeps.md, as words. */
const CAUSES: Record<string, string> = {
  user_error: "The code raised an exception",
  bad_report: "It reported what is no number",
  non_finite: "It reported NaN or an infinity",
  exited: "It ended before its function returned",
  signal: "It was ended by a signal",
  timeout: "It took longer than it may",
  stalled: "It reported nothing for too long",
  disk_quota: "It filled its own folders",
  disk_full: "A file system had no space left",
  pinning: "It saw another device than its slot's",
  host_memory: "It took too much memory",
  device_memory: "It took too much memory of the device",
  start_timeout: "It did not start in time",
  infrastructure: "It lost its slot",
  node_lost: "It lost its machine",
  cancelled: "It was stopped on request",
};

export function wordsOf(cause: string): string {
  return CAUSES[cause] ?? cause.replaceAll("_", " ");
}

export function Attempts({ trial }: { trial: Trial }) {
  const newest = [...trial.attempts].reverse();
  return (
    <Panel
      title={trial.attempts.length > 1 ? `Attempts (${trial.attempts.length})` : "Attempt"}
      hint={trial.attempts.length === 0 ? "The trial waits for a device; its first attempt begins there." : undefined}
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
        <StateBadge state={attempt.state ?? "running"} />
        <span className="trial-dim">
          on {attempt.device}, {formatTime(attempt.started_at)}
          {attempt.duration_s !== null && `, ${formatDuration(attempt.duration_s)}`}
        </span>
        {many && (
          <Button small quiet onClick={() => showLog(latest ? "" : String(attempt.number))}>
            Show its log
          </Button>
        )}
      </header>
      {attempt.cause && (
        <p>
          {wordsOf(attempt.cause)} <span className="trial-dim mono">({attempt.cause})</span>
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
            <Copy text={attempt.traceback} what="the traceback" />
          </div>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, also by keyboard */}
          <pre tabIndex={0}>{attempt.traceback}</pre>
        </details>
      )}
      <p className="trial-dim">{factsOf(attempt).join(" · ")}</p>
    </article>
  );
}

function factsOf(attempt: Attempt): string[] {
  const facts = [`process ${attempt.pid ?? "not started"}`];
  if (attempt.import_s) facts.push(`program loaded in ${formatDuration(attempt.import_s)}`);
  if (attempt.torch_device) facts.push(`torch device ${attempt.torch_device}`);
  if (attempt.visible_devices) facts.push(`visible devices ${attempt.visible_devices}`);
  const told = attempt.state === "failed" && attempt.exit === "0"; // it said by itself what failed
  if (attempt.exit !== null && !told)
    facts.push(/^-?\d+$/.test(attempt.exit) ? `exit status ${attempt.exit}` : attempt.exit);
  if (attempt.orphans_killed > 0) facts.push(`${attempt.orphans_killed} left processes ended`);
  if (attempt.late_prune_answers > 0) facts.push(`${attempt.late_prune_answers} late answers on pruning`);
  return facts;
}
