// The devices of a sweep from its start to its end: a timeline of trials, utilization, and idle time by reason.
import { useMemo } from "react";
import { usePoints } from "../../charts/queries";
import { idsOf } from "../../charts/trial-columns";
import { formatDuration, formatShare } from "../../format";
import { Reasons } from "../../timeline/idle-reasons";
import { type Fetched, useTimeline } from "../../timeline/queries";
import { TimelineView } from "../../timeline/timeline";
import { useViewState } from "../../timeline/view-state";
import { useQueryState } from "../../url-query-state";
import { Panel } from "../../widgets/panel";
import { Empty, QueryResult } from "../../widgets/query-states";
import { Stat, Stats } from "../../widgets/stats";
import { TrialTimelinePanel } from "./trial-timeline-panel";

export function DevicesTab({ sweepId }: { sweepId: number }) {
  const state = useViewState();
  const timeline = useTimeline({ sweepId, span: state.span });
  const matching = useMatching(sweepId);
  return (
    <>
      <QueryResult query={timeline} rows={5}>
        {fetched =>
          fetched.view.devices.length === 0 ? (
            <Empty title="No recorded activity" hint="No device was running, or the sweep was imported." />
          ) : (
            <>
              <Panel
                title="Devices"
                hint="Bars are trials; shaded areas are idle time by reason. Drag, or press + and −, to zoom."
                actions={<Figures fetched={fetched} />}
              >
                <TimelineView fetched={fetched} sweepId={sweepId} matching={matching} {...state} />
              </Panel>
              <Panel title="Idle time by reason" hint="Total time without a running trial, over all devices.">
                <Reasons lines={fetched.view.devices} />
              </Panel>
            </>
          )
        }
      </QueryResult>
      <TrialTimelinePanel sweepId={sweepId} />
    </>
  );
}

/** The trials that match the page's filter; null without a filter, or if there are too many to list. */
function useMatching(sweepId: number): ReadonlySet<number> | null {
  const [filter] = useQueryState("filter");
  const { data } = usePoints(sweepId, filter, [], filter !== "");
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
