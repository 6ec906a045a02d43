// The state of a sweep, trial, device, ensemble or member: an icon, a colour and a label.
import "./badge.css";

type Look = { tone: "waiting" | "running" | "finished" | "pruned" | "failed"; sign: string };

const LOOKS: Record<string, Look> = {
  queued: { tone: "waiting", sign: "○" },
  waiting: { tone: "waiting", sign: "○" },
  starting: { tone: "waiting", sign: "○" },
  idle: { tone: "waiting", sign: "○" },
  dedicated: { tone: "running", sign: "◆" },
  running: { tone: "running", sign: "◐" },
  busy: { tone: "running", sign: "◐" },
  warming: { tone: "running", sign: "◐" },
  building: { tone: "running", sign: "◐" },
  restarting: { tone: "pruned", sign: "↻" },
  stopping: { tone: "pruned", sign: "◐" },
  paused: { tone: "pruned", sign: "❚❚" },
  pruned: { tone: "pruned", sign: "✂" },
  degraded: { tone: "pruned", sign: "▲" },
  suspect: { tone: "pruned", sign: "▲" },
  half_open: { tone: "pruned", sign: "▲" },
  drained: { tone: "pruned", sign: "❚❚" },
  "set aside": { tone: "pruned", sign: "❚❚" },
  finished: { tone: "finished", sign: "✓" },
  ready: { tone: "finished", sign: "✓" },
  failed: { tone: "failed", sign: "✕" },
  open: { tone: "failed", sign: "✕" },
  lost: { tone: "failed", sign: "✕" },
  cancelled: { tone: "waiting", sign: "■" },
  stopped: { tone: "waiting", sign: "■" },
  retired: { tone: "waiting", sign: "■" },
};

// The API reports a drained device as "set aside".
const LABELS: Record<string, string> = { "set aside": "drained" };

export function lookOf(state: string): Look {
  return LOOKS[state] ?? { tone: "waiting", sign: "•" };
}

export function StateBadge({ state, title }: { state: string; title?: string }) {
  const { tone, sign } = lookOf(state);
  return (
    <span className={`badge badge-${tone}`} title={title}>
      <span aria-hidden="true" className="badge-sign">
        {sign}
      </span>
      {LABELS[state] ?? state.replaceAll("_", " ")}
    </span>
  );
}
