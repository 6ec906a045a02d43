// The timeline by trial of a sweep: when each attempt waited and ran, live while trials run.
import { useMemo } from "react";
import { useConnection } from "../../connection-status";
import { formatCount } from "../../format";
import { attemptsOf, isLive } from "../../timeline/attempts";
import { useTrialTimeline } from "../../timeline/queries";
import { TrialTimelineChart } from "../../timeline/trials-timeline";
import { useQueryState } from "../../url-query-state";
import { useNow } from "../../use-now";
import { Panel } from "../../widgets/panel";
import { Empty, QueryResult } from "../../widgets/query-states";

const HINT = "Each row is a trial: the thin line is its time in the queue, the bar its time on a device.";

export function TrialTimelinePanel({ sweepId }: { sweepId: number }) {
  const [filter] = useQueryState("filter");
  const query = useTrialTimeline(sweepId, filter);
  return (
    <Panel title="Timeline by trial" hint={HINT}>
      <QueryResult query={query} rows={5}>
        {({ view, aheadS }) => <Body sweepId={sweepId} view={view} aheadS={aheadS} />}
      </QueryResult>
    </Panel>
  );
}

type BodyProps = { sweepId: number } & NonNullable<ReturnType<typeof useTrialTimeline>["data"]>;

function Body({ sweepId, view, aheadS }: BodyProps) {
  const [as, setAs] = useQueryState("trials");
  const attempts = useMemo(() => attemptsOf(view), [view]);
  const { lost } = useConnection();
  const clock = useNow(isLive(attempts) && !lost) / 1000 + aheadS;
  const now = Math.max(view.now_s, Math.floor(clock)); // bars grow once a second
  if (attempts.length === 0) return <Empty title="No trials" hint="No trial matches, or none has been created yet." />;
  return (
    <>
      {view.shown < view.matching && (
        <p className="timeline-note">
          Showing {formatCount(view.shown)} of {formatCount(view.matching)} trials: the running ones and an even sample
          of the others.
        </p>
      )}
      <TrialTimelineChart
        {...{ attempts, sweepId, now }}
        asRows={as === "rows"}
        onAsRows={on => setAs(on ? "rows" : "")}
      />
    </>
  );
}
