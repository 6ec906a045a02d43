// The comparison of sweeps and trials of several sweeps. The URL names them; the basket remembers them.

import { useEffect } from "react";
import { Link } from "wouter";
import { basket, clear, count, idsIn, MOST, remove } from "../../basket/comparison-basket";
import { ChartsOf } from "../../charts/export-subject";
import { nameOf, type TrialName, useNamedTrials } from "../../trials/trial-references";
import { setQuery, useQueryState } from "../../url-query-state";
import { Button, ButtonLink } from "../../widgets/button";
import { Icon } from "../../widgets/icon";
import { PageHead } from "../../widgets/page-head";
import { Empty, Failure, Loading } from "../../widgets/query-states";
import { Histories } from "./best-so-far-histories";
import { ConfigurationDiff } from "./configuration-diff";
import { JoinedTable } from "./joined-table";
import { useHistories, useJoinedTrials } from "./queries";
import "./compare.css";

const BEST = "10";

export function ComparePage() {
  const [sweepText] = useQueryState("sweeps");
  const named = useNamedTrials("trials", [], MOST.trials);
  useEffect(() => {
    document.title = "Compare · Podium";
    const own = basket();
    if (window.location.search === "" && count(own) > 0)
      setQuery({ sweeps: own.sweeps.join(), trials: own.trials.join() });
  }, []);
  const [sweeps, trials] = [idsIn(sweepText, "sweeps"), named.trials];
  if (named.isLoading) return <Loading rows={6} what="Loading the trials" />;
  if (named.error) return <Failure error={named.error} isPage onRetry={() => window.location.reload()} />;
  if (sweeps.length + trials.length === 0)
    return (
      <>
        <PageHead title="Compare" />
        <Empty
          title="Nothing to compare yet"
          hint="Add sweeps and trials of any sweep: by Compare on their pages, in the list of sweeps and for selected trials, or by Shift-Enter in the command palette (Ctrl-K)."
        >
          <ButtonLink href="/">All sweeps</ButtonLink>
        </Empty>
      </>
    );
  return <Compared sweeps={sweeps} trials={trials} />;
}

function dropSweep(id: number, ids: readonly number[]): void {
  remove("sweeps", id);
  setQuery({ sweeps: ids.filter(each => each !== id).join() });
}

function dropTrial(id: number, trials: readonly TrialName[]): void {
  remove("trials", id);
  const left = trials.filter(trial => trial.id !== id);
  setQuery({ trials: left.map(nameOf).join() });
}

type ComparedProps = { sweeps: readonly number[]; trials: readonly TrialName[] };

function Compared({ sweeps, trials: named }: ComparedProps) {
  const trials = named.map(trial => trial.id);
  const [best, setBest] = useQueryState("best", BEST);
  const [by, setBy] = useQueryState("by", "number");
  const across = by === "time" ? "time" : "number";
  const histories = useHistories(sweeps, across);
  const joined = useJoinedTrials(sweeps, trials, Math.min(50, Math.max(0, Number(best) || 0)));
  const failed = [histories, joined].find(query => query.isError);
  const names = new Map((joined.data ?? []).map(trial => [trial.sweep_id, trial.sweep_name]));
  for (const each of histories.data ?? []) names.set(each.sweep_id, each.name);
  const all = [...new Set([...sweeps, ...names.keys()])].map(id => ({ id, name: names.get(id) ?? `sweep ${id}` }));
  const colours = new Map(all.map((sweep, at) => [sweep.id, at]));
  return (
    <>
      <PageHead title="Compare">
        <Button
          onClick={() => {
            clear();
            setQuery({ sweeps: "", trials: "" });
          }}
        >
          Remove all
        </Button>
      </PageHead>
      <ul className="compare-items" aria-label="Compared sweeps">
        {sweeps.map(id => (
          <li key={id} className={`compare-item compare-series-${(colours.get(id) ?? 0) % 8}`}>
            <Link href={`/sweeps/${id}`}>{names.get(id) ?? `sweep ${id}`}</Link>{" "}
            <span className="compare-id">({id})</span>
            <Button quiet small title={`Remove sweep ${id} from the comparison`} onClick={() => dropSweep(id, sweeps)}>
              <Icon name="close" size={12} />
            </Button>
          </li>
        ))}
      </ul>
      {failed && <Failure error={failed.error} onRetry={() => void failed.refetch()} />}
      {sweeps.length > 0 && histories.isLoading && <Loading rows={6} what="Loading the histories" />}
      {histories.data && (
        <ChartsOf subject={all.map(({ name }) => name).join(", ")}>
          <Histories histories={histories.data} by={across} onBy={setBy} colours={colours} />
        </ChartsOf>
      )}
      {joined.data ? (
        <JoinedTable
          trials={joined.data}
          chosen={trials}
          best={Number(best)}
          hasSweeps={sweeps.length > 0}
          onBest={count => setBest(String(count))}
          onDrop={id => dropTrial(id, named)}
        />
      ) : (
        joined.isLoading && <Loading rows={6} what="Loading the trials" />
      )}
      {all.length > 1 ? (
        <ConfigurationDiff sweeps={all} />
      ) : (
        <p className="compare-hint">Add a second sweep to see how the configurations differ.</p>
      )}
    </>
  );
}
