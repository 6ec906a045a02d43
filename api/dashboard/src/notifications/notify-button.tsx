// Turns the browser's notifications about a sweep on and off; asks for the permission when it is needed.
import type { Sweep } from "../sweep/sweep";
import { ENDED_STATES } from "../sweep/sweep";
import { Button } from "../widgets/button";
import { toast } from "../widgets/toast";
import { useWatchedSweeps, watchSweep } from "./watched-sweeps";

export function NotifyButton({ sweep }: { sweep: Sweep }) {
  const on = useWatchedSweeps().includes(sweep.id);
  if (typeof Notification === "undefined" || ENDED_STATES.includes(sweep.state)) return null;
  const change = async () => {
    if (on) return watchSweep(sweep.id, false);
    const permission =
      Notification.permission === "default" ? await Notification.requestPermission() : Notification.permission;
    if (permission === "granted") watchSweep(sweep.id, true);
    else toast("This browser does not allow notifications of this page; allow them in its settings", "failed");
  };
  return (
    <Button
      aria-pressed={on}
      title="A notification of this browser when the sweep has finished, failed or stalled, while a tab of Podium is open"
      onClick={() => void change()}
    >
      Notify me
    </Button>
  );
}
