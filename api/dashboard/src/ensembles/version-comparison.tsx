// Two versions of an ensemble, evaluated on the same rows: their scores and the differences.
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, done, type Schemas } from "../api";
import { ExportTable } from "../charts/export";
import type { Rows } from "../charts/export-file";
import { formatCount, formatNumber } from "../format";
import { keys } from "../query-keys";
import { useCanEdit } from "../use-session";
import { Button } from "../widgets/button";
import { Panel } from "../widgets/panel";
import { ScrollX } from "../widgets/scroll-x";
import { Select } from "../widgets/select";
import { attempt } from "../widgets/toast";
import type { Ensemble, Evaluation, Figures } from "./ensemble-types-and-labels";
import { evaluate, isPending, useEvaluations } from "./queries";
import { figure, formatChange, formatScore, metricOf, metricsOf } from "./score-metrics";

const POSTED = "posted"; // rows of a request, which differ from one evaluation to the next
const SPLIT = "test";

type Pair = { split: string; one: Figures; other: Figures; ids: readonly [number, number] };

export function VersionComparison({ ensemble }: { ensemble: Ensemble }) {
  const query = useEvaluations(ensemble.id);
  const numbers = ensemble.versions.map(({ number }) => number);
  const [one, setOne] = useState(ensemble.version);
  const [other, setOther] = useState(
    ensemble.canary ?? ensemble.target ?? numbers.filter(number => number !== ensemble.version).at(-1) ?? 0,
  );
  if (numbers.length < 2 || query.data === undefined) return null;
  const pair = pairOf(query.data, one, other);
  const options = numbers.map(number => ({ value: String(number), name: `version ${number}` }));
  const actions = (
    <>
      <Select label="Compare" value={String(one)} options={options} onChange={value => setOne(Number(value))} />
      <Select label="with" value={String(other)} options={options} onChange={value => setOther(Number(value))} />
    </>
  );
  const hint = pair ? `On the same ${formatCount(pair.one.rows)} rows of the ${pair.split} split.` : undefined;
  return (
    <Panel title="Comparison of two versions" hint={hint} actions={actions}>
      {one === other && <p>Choose two different versions.</p>}
      {one !== other && pair && (
        <>
          <Scores pair={pair} one={one} other={other} />
          <Difference ensembleId={ensemble.id} ids={pair.ids} />
        </>
      )}
      {one !== other && !pair && <Missing ensemble={ensemble} evaluations={query.data} versions={[one, other]} />}
    </Panel>
  );
}

/** The latest results of two versions on one split with the same number of rows; the test split if possible. */
export function pairOf(evaluations: readonly Evaluation[], one: number, other: number): Pair | null {
  const of = (version: number) =>
    evaluations.flatMap(each =>
      each.version === version && each.result ? [{ id: each.id, result: each.result }] : [],
    );
  const pairs = of(one).flatMap(({ id, result: first }) => {
    if (first.split === POSTED) return [];
    const second = of(other).find(({ result }) => result.split === first.split && result.rows === first.rows);
    if (!second) return [];
    return [{ split: first.split, one: first, other: second.result, ids: [id, second.id] as const }];
  });
  return pairs.find(pair => pair.split === SPLIT) ?? pairs[0] ?? null;
}

type ScoresProps = { pair: Pair; one: number; other: number };

function Scores(props: ScoresProps) {
  const { one, other } = props;
  return (
    <>
      <ScrollX label="Scores of two versions">
        <table className="figures">
          <thead>
            <tr>
              <th scope="col">Score</th>
              <th scope="col">Version {one}</th>
              <th scope="col">Version {other}</th>
              <th scope="col">Difference</th>
              <th scope="col">Better</th>
            </tr>
          </thead>
          <tbody>
            {changesOf(props).map(({ name, first, second, change, better }) => (
              <tr key={name}>
                <th scope="row">{name}</th>
                <td>{formatScore(first)}</td>
                <td>{formatScore(second)}</td>
                <td>{change === null ? "–" : formatChange(change)}</td>
                <td>{better ?? "–"}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollX>
      <ExportTable name={`versions ${one} and ${other}`} rows={() => comparisonRows(props)} />
    </>
  );
}

/** Each score of both versions, the second minus the first, and which is better; null if a version lacks the score. */
function changesOf({ pair, one, other }: ScoresProps) {
  const [a, b] = [pair.one.ensemble, pair.other.ensemble];
  return metricsOf([a, b]).map(({ key, name, better }) => {
    const [first, second] = [figure(a, key), figure(b, key)];
    if (first === null || second === null) return { name, first, second, change: null, better: null };
    const change = second - first;
    const isSecond = better === "more" ? change > 0 : change < 0;
    return { name, first, second, change, better: change === 0 ? "equal" : `version ${isSecond ? other : one}` };
  });
}

/** The table for a file. */
export function comparisonRows(props: ScoresProps): Rows {
  const rows = changesOf(props).map(({ name, first, second, change, better }) => [name, first, second, change, better]);
  return [["score", `version ${props.one}`, `version ${props.other}`, "difference", "better"], ...rows];
}

/** Whether the difference of two versions is more than chance, on rows that both have predicted. */
function Difference({ ensembleId, ids: [first, second] }: { ensembleId: number; ids: readonly [number, number] }) {
  const query = useQuery({
    queryKey: keys.ensemble(ensembleId, "difference", first, second),
    queryFn: ({ signal }) => {
      const params = { path: { ensemble_id: ensembleId }, query: { first, second } };
      return done(api.GET("/api/v1/ensembles/{ensemble_id}/version-difference", { params, signal }));
    },
    staleTime: Number.POSITIVE_INFINITY,
    placeholderData: undefined,
    retry: false,
  });
  if (query.isError) return <p className="figures-note">No confidence interval: {query.error.message}.</p>;
  if (!query.data) return <p className="figures-note">Computing confidence intervals</p>;
  return (
    <ul className="figures-note" aria-label="Confidence intervals">
      {query.data.metrics.map(metric => (
        <li key={metric.metric}>{differenceText(query.data, metric)}</li>
      ))}
    </ul>
  );
}

type Differences = Schemas["VersionDifferenceView"];

/** The difference with its interval, and whether it is distinguishable from zero. */
export function differenceText(found: Differences, metric: Differences["metrics"][number]): string {
  const { first_version, second_version, rows, mcnemar } = found;
  const [low, high] = metric.ci95.map(end => formatChange(end));
  const test = metric.metric === "accuracy" && mcnemar ? ` McNemar's p = ${formatNumber(mcnemar.p_value, 2)}.` : "";
  const is = metric.distinguishable ? "is" : "is not";
  const name = metricOf(metric.metric).name;
  return (
    `${name} of version ${second_version} minus version ${first_version}: ${formatChange(metric.difference)}, ` +
    `95 % interval ${low} to ${high}. On these ${formatCount(rows)} rows, the difference ${is} distinguishable from zero.${test}`
  );
}

type MissingProps = { ensemble: Ensemble; evaluations: readonly Evaluation[]; versions: readonly number[] };

function Missing({ ensemble, evaluations, versions }: MissingProps) {
  const canEdit = useCanEdit();
  const has = (version: number) => evaluations.some(each => each.version === version && each.result?.split === SPLIT);
  const running = evaluations.some(isPending);
  return (
    <>
      <p>The two versions have not been evaluated on the same rows.</p>
      {canEdit &&
        versions
          .filter(version => !has(version))
          .map(version => (
            <Button
              key={version}
              command
              busy={running}
              onClick={() =>
                void attempt(
                  () => evaluate(ensemble.id, { version, split: SPLIT }),
                  `Evaluation of version ${version} requested`,
                )
              }
            >
              Evaluate version {version} on the test split
            </Button>
          ))}
    </>
  );
}
