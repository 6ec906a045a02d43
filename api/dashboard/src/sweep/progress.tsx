// The progress of a sweep: a bar of completed, running and failed trials, with figures.
import { formatCount } from "../format";
import { countedOf, countsText, type Sweep } from "./sweep";
import "./progress.css";

export function SweepProgress({ sweep, wide }: { sweep: Sweep; wide?: boolean }) {
  const counted = countedOf(sweep);
  const cap = Math.max(sweep.run_cap, counted, 1);
  const width = (count: number) => `${(100 * count) / cap}%`;
  const running = Math.min(sweep.counts.running ?? 0, cap - counted);
  const notCounted = sweep.counts.failed ? `; failed trials do not count towards the ${formatCount(cap)}` : "";
  return (
    <div className={wide ? "progress progress-wide" : "progress"} title={`${countsText(sweep)}${notCounted}`}>
      <div
        className="progress-bar"
        role="progressbar"
        aria-label="Completed trials"
        aria-valuemin={0}
        aria-valuemax={cap}
        aria-valuenow={counted}
        aria-valuetext={`${counted} of ${cap} trials; ${countsText(sweep)}`}
      >
        <span className="progress-finished" style={{ width: width(sweep.counts.finished ?? 0) }} />
        <span className="progress-pruned" style={{ width: width(sweep.counts.pruned ?? 0) }} />
        <span className="progress-running" style={{ width: width(running) }} />
      </div>
      <span className="progress-text">
        {formatCount(counted)} / {formatCount(sweep.run_cap)}
        {(sweep.counts.failed ?? 0) > 0 && (
          <span className="progress-failed"> · {formatCount(sweep.counts.failed)} failed</span>
        )}
      </span>
    </div>
  );
}
