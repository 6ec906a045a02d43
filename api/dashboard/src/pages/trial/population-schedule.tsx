// The schedule of a trial of a population: the parameters of each interval, those of its donors among them.
import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { api, done } from "../../api";
import { formatCount, formatNumber, formatValue } from "../../format";
import { keys } from "../../query-keys";
import { trialHref } from "../../trials/trial-references";
import { Panel } from "../../widgets/panel";
import { QueryResult } from "../../widgets/query-states";
import type { Sweep, Trial } from "./queries";

/** Nothing for a sweep without a population, or before the first interval. */
export function Schedule({ trial, sweep }: { trial: Trial; sweep: Sweep | undefined }) {
  const isTrained = sweep?.population != null && trial.attempt > 0;
  const path = { trial_id: trial.id };
  const schedule = useQuery({
    queryKey: keys.trial(trial.id, "schedule"),
    queryFn: () => done(api.GET("/api/v1/trials/{trial_id}/schedule", { params: { path } })),
    enabled: isTrained,
  });
  if (!isTrained) return null;
  return (
    <Panel
      title="Schedule"
      hint={
        <>
          The parameters of each interval, with those of the trials that it continued.{" "}
          <code>podium trial schedule {trial.id} --replay</code> prints a sweep that repeats it.
        </>
      }
    >
      <QueryResult query={schedule} rows={4}>
        {found => {
          const names = [...new Set(found.intervals.flatMap(each => Object.keys(each.params)))];
          return (
            <div className="trial-schedule">
              <table>
                <thead>
                  <tr>
                    {["Interval", "Trial", "Until step", "Value", ...names].map(name => (
                      <th key={name} scope="col">
                        {name}
                      </th>
                    ))}
                  </tr>
                </thead>
                <tbody>
                  {found.intervals.map(each => (
                    <tr key={`${each.trial}-${each.interval}`}>
                      <td>{each.interval}</td>
                      <td>
                        {each.trial_id === trial.id ? (
                          each.trial
                        ) : (
                          <Link href={trialHref(trial.sweep_id, each.trial)}>{each.trial}</Link>
                        )}
                      </td>
                      <td>{each.step === null ? "–" : formatCount(each.step)}</td>
                      <td>{formatNumber(each.value)}</td>
                      {names.map(name => (
                        <td key={name}>{name in each.params ? formatValue(each.params[name]) : "–"}</td>
                      ))}
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
          );
        }}
      </QueryResult>
    </Panel>
  );
}
