// The curves of a sweep's trials: a grid of all metrics, loaded when the tab is opened.
import { lazy, Suspense } from "react";
import { useMetricNames } from "../../curves/queries";
import { ENDED_STATES } from "../../sweep/sweep";
import { useSweep } from "../../sweep/use-sweep";
import { setQuery, useQueryState } from "../../url";
import { Button } from "../../widgets/button";
import { Panel } from "../../widgets/panel";
import { Empty, Loading, QueryResult } from "../../widgets/query-states";

const CurveGrid = lazy(() => import("../../curves/grid").then(({ CurveGrid }) => ({ default: CurveGrid })));

export function CurvesTab({ sweepId }: { sweepId: number }) {
  const [filter] = useQueryState("filter");
  const sweep = useSweep(sweepId).data;
  const query = useMetricNames(sweepId, filter);
  const parameters = Object.keys((sweep?.spec.parameters as object | undefined) ?? {});
  return (
    <QueryResult query={query} rows={8}>
      {metrics =>
        metrics.length === 0 ? (
          <Nothing sweepId={sweepId} filter={filter} />
        ) : (
          <Panel>
            <Suspense fallback={<Loading rows={8} what="Loading the charts" />}>
              <CurveGrid {...{ sweepId, filter, metrics, parameters }} />
            </Suspense>
          </Panel>
        )
      }
    </QueryResult>
  );
}

function Nothing({ sweepId, filter }: { sweepId: number; filter: string }) {
  const sweep = useSweep(sweepId).data;
  if (filter !== "") {
    return (
      <Empty title="No curves" hint={`No trial that matches ${filter} has reported a metric by step.`}>
        <Button onClick={() => setQuery({ filter: "" })}>Clear filter</Button>
      </Empty>
    );
  }
  if (sweep && ENDED_STATES.includes(sweep.state)) {
    return (
      <Empty
        title="No curves"
        hint="The sweep has ended, and no trial reported a metric by step. See Table and Analysis for final values."
      />
    );
  }
  return <Empty title="No curves yet" hint="Curves appear when a trial reports a metric by step." />;
}
