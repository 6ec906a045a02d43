// The metrics of a trial as curves, updated while it runs; one small chart each, with a shared pointer.
import { type UseQueryResult, useQuery, useQueryClient } from "@tanstack/react-query";
import { useMemo, useRef } from "react";
import { api, done } from "../../api";
import { formatCount, formatNumber } from "../../format";
import { type LivePoints, useLive } from "../../live";
import { keys } from "../../query-keys";
import { useQueryState } from "../../url";
import { Button } from "../../widgets/button";
import { Panel } from "../../widgets/panel";
import { QueryResult } from "../../widgets/query-states";
import { Plot } from "./metric-plot";
import { isOver, objectiveNames, type Sweep, type Trial } from "./queries";
import "./curves.css";

type Point = [number, number];
export type Curves = Record<string, Point[]>;

const MAX_POINTS = 1_200;
const MOST_LIVE = 2 * MAX_POINTS; // a curve with more points is fetched again and downsampled by the service
const FILL_MS = 3_000; // delay before steps missing between live points are fetched
const TABLE_ROWS = 200;

type TrialCurvesProps = { trial: Trial; sweep: Sweep | undefined; query: UseQueryResult<Curves> };

export function TrialCurves({ trial, sweep, query }: TrialCurvesProps) {
  const [scale, setScale] = useQueryState("scale");
  return (
    <Panel
      title="Curves"
      actions={
        query.data &&
        Object.keys(query.data).length > 0 && (
          <Button small aria-pressed={scale === "log"} onClick={() => setScale(scale === "log" ? "" : "log")}>
            Log scale
          </Button>
        )
      }
    >
      <QueryResult query={query} rows={6}>
        {curves => (
          <Charts curves={curves} trial={trial} objectives={objectiveNames(sweep)} logarithmic={scale === "log"} />
        )}
      </QueryResult>
    </Panel>
  );
}

type ChartsProps = { curves: Curves; trial: Trial; objectives: string[]; logarithmic: boolean };

function Charts({ curves, trial, objectives, logarithmic }: ChartsProps) {
  const rank = (name: string) => (objectives.includes(name) ? objectives.indexOf(name) : objectives.length);
  const names = Object.keys(curves).sort((one, other) => rank(one) - rank(other) || one.localeCompare(other));
  if (names.length === 0)
    return <p className="trial-none">{isOver(trial) ? "No metrics reported" : "No metrics reported yet"}</p>;
  return (
    <>
      <div className="curves">
        {names.map((name, index) => (
          <Plot
            key={name}
            name={name}
            points={curves[name] ?? []}
            series={index}
            objective={objectives.includes(name)}
            logarithmic={logarithmic}
            group={`trial-${trial.id}`}
          />
        ))}
      </div>
      <details className="curves-table">
        <summary>Show as table</summary>
        <CurveTable names={names} curves={curves} />
      </details>
    </>
  );
}

function CurveTable({ names, curves }: { names: string[]; curves: Curves }) {
  const rows = useMemo(() => {
    const steps = new Map<number, Record<string, number>>();
    for (const name of names)
      for (const [step, value] of curves[name] ?? []) steps.set(step, { ...steps.get(step), [name]: value });
    return [...steps].sort(([one], [other]) => other - one).slice(0, TABLE_ROWS);
  }, [names, curves]);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable areas must be reachable by keyboard
    <div className="trial-scroll curves-rows" tabIndex={0}>
      <table className="trial-table">
        <caption className="hidden-text">The last {TABLE_ROWS} steps, newest first</caption>
        <thead>
          <tr>
            {["Step", ...names].map(name => (
              <th key={name} scope="col" className="trial-figure">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(([step, values]) => (
            <tr key={step}>
              <th scope="row" className="trial-figure">
                {formatCount(step)}
              </th>
              {names.map(name => (
                <td key={name} className="trial-figure mono">
                  {formatNumber(values[name], 5)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** The curves, downsampled by the service; live points are appended, and gaps are filled every few seconds. */
export function useCurves(trial: Trial) {
  const queries = useQueryClient();
  const key = keys.trial(trial.id, "curves");
  const filled = useRef(0);
  useLive<LivePoints>("metrics", ({ points }) => {
    const mine = points[String(trial.id)];
    if (!mine) return;
    const before = queries.getQueryData<Curves>(key);
    if (before) queries.setQueryData(key, extended(before, mine));
    if ((!before || hasGap(before, mine) || isLong(before)) && Date.now() - filled.current > FILL_MS) {
      filled.current = Date.now();
      void queries.invalidateQueries({ queryKey: key }, { cancelRefetch: false });
    }
  });
  return useQuery({
    queryKey: key,
    queryFn: async (): Promise<Curves> => {
      const params = { path: { trial_id: trial.id }, query: { max_points: MAX_POINTS } };
      return (await done(api.GET("/api/v1/trials/{trial_id}/metrics", { params }))) as Curves;
    },
    placeholderData: undefined,
  });
}

export function extended(curves: Curves, points: Record<string, Point>): Curves {
  const next = { ...curves };
  for (const [name, [step, value]] of Object.entries(points)) {
    const curve = next[name] ?? [];
    const last = curve.at(-1)?.[0] ?? -1;
    if (step > last) next[name] = [...curve, [step, value]];
  }
  return next;
}

export function hasGap(curves: Curves, points: Record<string, Point>): boolean {
  return Object.entries(points).some(([name, [step]]) => step > (curves[name]?.at(-1)?.[0] ?? -1) + 1);
}

export function isLong(curves: Curves): boolean {
  return Object.values(curves).some(curve => curve.length > MOST_LIVE);
}
