// The page "Devices": the state of each device, a timeline of its trials, and the reasons for idle time.
import { useQuery } from "@tanstack/react-query";
import { useEffect } from "react";
import { api, done } from "../api";
import { useConnection } from "../connection-status";
import type { Device } from "../devices/device";
import { DeviceTable } from "../devices/device-table";
import { ServicesLine } from "../devices/leader-status";
import { machinesOf, type Node } from "../devices/nodes";
import { formatCount, formatDuration, formatShare } from "../format";
import { keys } from "../query-keys";
import { Reasons } from "../timeline/idle-reasons";
import { type Fetched, useTimeline } from "../timeline/queries";
import { TimelineView } from "../timeline/timeline";
import { useViewState } from "../timeline/view-state";
import { setQuery, useQueryState } from "../url-query-state";
import { useNow } from "../use-now";
import { useSession } from "../use-session";
import { Button } from "../widgets/button";
import { PageHead } from "../widgets/page-head";
import { Panel } from "../widgets/panel";
import { Empty, QueryResult } from "../widgets/query-states";
import { Stat, Stats } from "../widgets/stats";

const RANGES = [
  { key: "15m", name: "15 min", seconds: 900, label: "in the last 15 min" },
  { key: "", name: "1 h", seconds: 3600, label: "in the last hour" },
  { key: "6h", name: "6 h", seconds: 21_600, label: "in the last 6 h" },
  { key: "24h", name: "24 h", seconds: 86_400, label: "in the last 24 h" },
  { key: "7d", name: "7 d", seconds: 604_800, label: "in the last 7 d" },
] as const;
const HOUR = RANGES[1];
const NODES_MS = 5_000; // silence is no event

export function DevicesPage() {
  const devices = useQuery({
    queryKey: keys.devices("now"),
    queryFn: ({ signal }) => done(api.GET("/api/v1/devices", { signal })),
  });
  const nodes = useQuery<Node[]>({
    queryKey: keys.devices("nodes"),
    refetchInterval: query => (query.state.data?.length ? NODES_MS : false),
    queryFn: ({ signal }) => done(api.GET("/api/v1/nodes", { signal })),
  });
  const [key] = useQueryState("range");
  const range = RANGES.find(each => each.key === key) ?? HOUR;
  const state = useViewState();
  const timeline = useTimeline({ span: state.span, rangeS: range.seconds });
  useEffect(() => {
    document.title = "Devices · Podium";
  }, []);
  return (
    <>
      <PageHead title="Devices">
        <fieldset className="devices-ranges">
          <legend className="hidden-text">Time range</legend>
          {RANGES.map(each => (
            <Button
              key={each.key}
              small
              aria-pressed={state.span === null && each === range}
              onClick={() => setQuery({ range: each.key, from: "", to: "" })}
            >
              {each.name}
            </Button>
          ))}
        </fieldset>
      </PageHead>
      <ServicesLine />
      <QueryResult query={devices} rows={5}>
        {found =>
          found.length === 0 ? (
            <Empty
              title="No devices yet"
              hint="Slots take a few seconds to start. `podium serve --devices` sets which devices are used."
            />
          ) : (
            <>
              <Now
                devices={found}
                nodes={nodes.data ?? []}
                fetched={timeline.data}
                rangeText={state.span ? "in view" : range.label}
              />
              <Panel
                title="Timeline"
                hint="Bars are trials; shaded areas are idle time by reason. Drag, or press + and −, to zoom."
              >
                <QueryResult query={timeline} rows={found.length + 1}>
                  {fetched => <TimelineView fetched={fetched} {...state} />}
                </QueryResult>
              </Panel>
              {timeline.data && (
                <Panel title="Idle time by reason" hint="Total time without a running trial, over all devices.">
                  <Reasons lines={timeline.data.view.devices} />
                </Panel>
              )}
            </>
          )
        }
      </QueryResult>
    </>
  );
}

type NowProps = {
  devices: readonly Device[];
  nodes: readonly Node[];
  fetched: Fetched | undefined;
  rangeText: string;
};

function Now({ devices, nodes, fetched, rangeText }: NowProps) {
  const now = useNow(!useConnection().lost) / 1000 + (fetched?.aheadS ?? 0);
  const mayDrain = useSession()?.role === "admin";
  const lines = new Map(fetched?.view.devices.map(line => [line.id, line]));
  const all = [...lines.values()];
  const busy = devices.filter(device => device.running !== null).length;
  const failed = all.reduce((sum, line) => sum + line.failed, 0);
  return (
    <>
      <div className="devices-figures">
        <Stats>
          <Stat name="Busy now" hint={`of ${formatCount(devices.length)} devices`}>
            {formatCount(busy)}
          </Stat>
          <Stat name="Busy share" hint={rangeText}>
            {formatShare(fetched?.view.busy_share)}
          </Stat>
          <Stat name="Idle" hint={`${rangeText}, all devices`}>
            {formatDuration(fetched && all.reduce((sum, line) => sum + line.idle_s, 0))}
          </Stat>
          <Stat name="Trials" hint={failed > 0 ? `${formatCount(failed)} failed` : rangeText}>
            {formatCount(fetched && all.reduce((sum, line) => sum + line.attempts, 0))}
          </Stat>
        </Stats>
      </div>
      <Panel flush>
        <DeviceTable
          machines={machinesOf(devices, nodes)}
          lines={lines}
          range={rangeText}
          now={now}
          mayDrain={mayDrain}
        />
      </Panel>
    </>
  );
}
