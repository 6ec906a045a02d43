// Trials of a sweep side by side: parameters, values and curves. The URL lists them.

import { useQueries } from "@tanstack/react-query";
import { useEffect } from "react";
import { Link } from "wouter";
import { api, done } from "../../api";
import { ChartsOf } from "../../charts/export-subject";
import { useFocus } from "../../live";
import { keys } from "../../query-keys";
import type { Sweep } from "../../sweep/sweep";
import { useSweep } from "../../sweep/use-sweep";
import { CompareCurves } from "../../trials/compare-curves";
import { CompareMetrics } from "../../trials/compare-metrics";
import { CompareTable } from "../../trials/compare-table";
import { MAX_COMPARED } from "../../trials/selected-actions";
import { nameOf, useNamedTrials } from "../../trials/trial-references";
import { setQuery, useQueryState } from "../../url-query-state";
import { ButtonLink } from "../../widgets/button";
import { Checkbox } from "../../widgets/checkbox";
import { PageHead } from "../../widgets/page-head";
import { Panel } from "../../widgets/panel";
import { Empty, Failure, Loading, QueryResult } from "../../widgets/query-states";

export function ComparePage({ sweepId }: { sweepId: number }) {
  useFocus({ sweep: sweepId });
  return <QueryResult query={useSweep(sweepId)}>{sweep => <Compared sweep={sweep} />}</QueryResult>;
}

function Compared({ sweep }: { sweep: Sweep }) {
  const [only, setOnly] = useQueryState("show", "all");
  const named = useNamedTrials("trials", [], MAX_COMPARED);
  const ids = named.trials.map(trial => trial.id);
  const answers = useQueries({
    queries: ids.map(id => ({
      queryKey: keys.trial(id),
      queryFn: () => done(api.GET("/api/v1/trials/{trial_id}", { params: { path: { trial_id: id } } })),
      placeholderData: undefined,
    })),
  });
  useEffect(() => {
    document.title = `Compare · ${sweep.name} · Podium`;
  }, [sweep.name]);
  const back = `/sweeps/${sweep.id}/table`;
  const failed = answers.find(answer => answer.isError && !answer.data);
  const trials = answers.flatMap(answer => answer.data ?? []);
  const names = named.trials.map(nameOf);
  const change = (next: readonly number[]) => {
    const chosen = next.flatMap(id => named.trials.find(trial => trial.id === id) ?? []);
    setQuery({ trials: chosen.map(nameOf).join() });
  };
  const above = (
    <>
      <Link href="/">Sweeps</Link> / <Link href={back}>{sweep.name}</Link>
    </>
  );
  return (
    <>
      <PageHead title="Compare trials" above={above}>
        <ButtonLink href={`/sweeps/${sweep.id}/ensemble?trials=${names.join()}`}>Build ensemble</ButtonLink>
      </PageHead>
      {named.isLoading ? (
        <Loading rows={8} what="Loading the trials" />
      ) : named.error ? (
        <Failure error={named.error} onRetry={() => window.location.reload()} />
      ) : ids.length < 2 ? (
        <Empty title="Select at least two trials" hint="Select trials in the table with x, then press c.">
          <ButtonLink href={back}>Back to the table</ButtonLink>
        </Empty>
      ) : failed ? (
        <Failure error={failed.error} onRetry={() => void failed.refetch()} />
      ) : trials.length < ids.length ? (
        <Loading rows={8} what="Loading the trials" />
      ) : (
        <>
          <Panel
            title="Parameters and values"
            hint="Differences are relative to the first trial."
            actions={
              <Checkbox
                label="Differences only"
                on={only === "differences"}
                onChange={on => setOnly(on ? "differences" : "all")}
              />
            }
          >
            <CompareTable
              sweep={sweep}
              trials={trials}
              only={only === "differences"}
              onFirst={id => change([id, ...ids.filter(each => each !== id)])}
              onDrop={id => change(ids.filter(each => each !== id))}
            />
          </Panel>
          <CompareMetrics trials={trials} />
          <ChartsOf subject={`${sweep.name}, compared trials`}>
            <CompareCurves sweepId={sweep.id} ids={ids} />
          </ChartsOf>
        </>
      )}
    </>
  );
}
