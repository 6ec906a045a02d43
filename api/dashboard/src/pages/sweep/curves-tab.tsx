// The curves of a sweep's trials: a grid of all metrics, loaded when the tab is opened.
import { useFreshness } from "../../charts/queries";
import { CHART_PARTS } from "../../start/lazy-shared-charts";
import { ENDED_STATES } from "../../sweep/sweep";
import { useSweep } from "../../sweep/use-sweep";
import { METRIC_NAMES, useMetricNames } from "../../trials/use-metric-names";
import { setQuery, useQueryState } from "../../url-query-state";
import { Button } from "../../widgets/button";
import { part } from "../../widgets/lazy-part";
import { Panel } from "../../widgets/panel";
import { Empty, QueryResult } from "../../widgets/query-states";

const CurveGrid = part("the charts", () => CHART_PARTS.curveGrid().then(module => module.CurveGrid));

export function CurvesTab({ sweepId }: { sweepId: number }) {
  const [filter] = useQueryState("filter");
  const sweep = useSweep(sweepId).data;
  useFreshness(sweepId, METRIC_NAMES);
  const { query } = useMetricNames(sweepId, filter);
  const parameters = Object.keys((sweep?.spec.parameters as object | undefined) ?? {});
  return (
    <QueryResult query={query} rows={8}>
      {metrics =>
        metrics.length === 0 ? (
          <Nothing sweepId={sweepId} filter={filter} />
        ) : (
          <Panel>
            <h2 className="hidden-text">Curves</h2>
            <CurveGrid {...{ sweepId, filter, metrics, parameters }} />
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
