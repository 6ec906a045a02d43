// The state of a sweep, trial, device, ensemble or member: an icon, a colour and a label.
import "./badge.css";

type StateStyle = { tone: "waiting" | "running" | "finished" | "pruned" | "failed"; icon: string };

const STATE_STYLES: Record<string, StateStyle> = {
  queued: { tone: "waiting", icon: "○" },
  waiting: { tone: "waiting", icon: "○" },
  starting: { tone: "waiting", icon: "○" },
  idle: { tone: "waiting", icon: "○" },
  dedicated: { tone: "running", icon: "◆" },
  running: { tone: "running", icon: "◐" },
  busy: { tone: "running", icon: "◐" },
  warming: { tone: "running", icon: "◐" },
  building: { tone: "running", icon: "◐" },
  restarting: { tone: "pruned", icon: "↻" },
  stopping: { tone: "pruned", icon: "◐" },
  paused: { tone: "pruned", icon: "❚❚" },
  pruned: { tone: "pruned", icon: "✂" },
  degraded: { tone: "pruned", icon: "▲" },
  suspect: { tone: "pruned", icon: "▲" },
  half_open: { tone: "pruned", icon: "▲" },
  leaving: { tone: "pruned", icon: "◐" },
  silent: { tone: "pruned", icon: "▲" },
  drained: { tone: "pruned", icon: "❚❚" },
  finished: { tone: "finished", icon: "✓" },
  ready: { tone: "finished", icon: "✓" },
  failed: { tone: "failed", icon: "✕" },
  open: { tone: "failed", icon: "✕" },
  lost: { tone: "failed", icon: "✕" },
  refused: { tone: "failed", icon: "✕" },
  cancelled: { tone: "waiting", icon: "■" },
  stopped: { tone: "waiting", icon: "■" },
  retired: { tone: "waiting", icon: "■" },
};

export function stateStyle(state: string): StateStyle {
  return STATE_STYLES[state] ?? { tone: "waiting", icon: "•" };
}

export function StateBadge({ state, title }: { state: string; title?: string }) {
  const { tone, icon } = stateStyle(state);
  return (
    <span className={`badge badge-${tone}`} title={title}>
      <span aria-hidden="true" className="badge-sign">
        {icon}
      </span>
      {state.replaceAll("_", " ")}
    </span>
  );
}
