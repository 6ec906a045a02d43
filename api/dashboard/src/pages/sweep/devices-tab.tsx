// The devices of a sweep: what each ran from its start to its end, how busy they were, and why they were not.
import { useMemo } from "react";
import { usePoints } from "../../charts/data";
import { idsOf } from "../../charts/points";
import { formatDuration, formatShare } from "../../format";
import { type Fetched, useTimeline } from "../../timeline/queries";
import { Reasons } from "../../timeline/reasons";
import { TimelineView } from "../../timeline/timeline";
import { useViewState } from "../../timeline/view-state";
import { useQueryState } from "../../url";
import { Panel, Stat, Stats } from "../../widgets/panel";
import { Answer, Empty } from "../../widgets/states";

export function DevicesTab({ sweepId }: { sweepId: number }) {
  const state = useViewState();
  const timeline = useTimeline({ sweepId, span: state.span });
  const matching = useMatching(sweepId);
  return (
    <Answer query={timeline} rows={5}>
      {fetched =>
        fetched.view.devices.length === 0 ? (
          <Empty
            title="Nothing is recorded of this time"
            hint="No device was up, or the sweep was imported and ran elsewhere."
          />
        ) : (
          <>
            <Panel
              title="Devices"
              hint="Bars are trials, shades are time without one and why. Drag, or press + and −, to zoom."
              actions={<Figures fetched={fetched} />}
            >
              <TimelineView fetched={fetched} sweepId={sweepId} matching={matching} {...state} />
            </Panel>
            <Panel title="Where the time went" hint="Of all devices together, when no trial ran on them.">
              <Reasons lines={fetched.view.devices} />
            </Panel>
          </>
        )
      }
    </Answer>
  );
}

/** The trials that the page's filter finds; null without one, or where they are too many to name them all. */
function useMatching(sweepId: number): ReadonlySet<number> | null {
  const [filter] = useQueryState("filter");
  const { data } = usePoints(sweepId, filter, filter !== "");
  return useMemo(
    () => (filter === "" || !data || data.shown < data.matching ? null : new Set(idsOf(data))),
    [filter, data],
  );
}

function Figures({ fetched: { view } }: { fetched: Fetched }) {
  const total = (key: "busy_s" | "sweep_busy_s" | "idle_s") =>
    view.devices.reduce((sum, line) => sum + (line[key] ?? 0), 0);
  const others = total("busy_s") - total("sweep_busy_s");
  return (
    <Stats>
      <Stat name="Busy share">{formatShare(view.busy_share)}</Stat>
      <Stat name="This sweep">{formatDuration(total("sweep_busy_s"))}</Stat>
      {others >= 0.5 && <Stat name="Other sweeps">{formatDuration(others)}</Stat>}
      <Stat name="Idle">{formatDuration(total("idle_s"))}</Stat>
    </Stats>
  );
}
