// The trials that can become members, best first, with their validation scores; check them to select manually.
import { Link } from "wouter";
import { ExportTable } from "../charts/export";
import type { Rows } from "../charts/export-file";
import { formatNumber, formatShare } from "../format";
import { trialHref } from "../trials/trial-references";
import type { Preview } from "./ensemble-types-and-labels";
import { figure, formatScore, metricOf } from "./score-metrics";
import "./candidates.css";

type Contender = Preview["contenders"][number];

type CandidatesProps = {
  pool: readonly Contender[];
  metric: string; // of the sweep
  weights: ReadonlyMap<number, number>; // of the current members
  onToggle: (trialId: number) => void;
};

export function Candidates({ pool, metric, weights, onToggle }: CandidatesProps) {
  const keys = scoresOf(pool);
  if (pool.length === 0) return <p className="candidates-none">No candidates match the filter.</p>;
  const most = Math.max(...weights.values(), 1e-9);
  return (
    <>
      <div className="candidates-box">
        <table className="figures candidates">
          <thead>
            <tr>
              <th scope="col">
                <span className="hidden-text">Member</span>
              </th>
              <th scope="col">Trial</th>
              <th scope="col" className="figures-number">
                {metric}
              </th>
              {keys.map(key => (
                <th key={key} scope="col" className="figures-number">
                  {metricOf(key).name} (validation)
                </th>
              ))}
              <th scope="col">Weight</th>
            </tr>
          </thead>
          <tbody>
            {pool.map(one => {
              const weight = weights.get(one.trial_id);
              return (
                <tr key={one.trial_id} className={weight === undefined ? undefined : "figures-own"}>
                  <td>
                    <input
                      type="checkbox"
                      aria-label={`Trial ${one.number} is a member`}
                      checked={weight !== undefined}
                      onChange={() => onToggle(one.trial_id)}
                    />
                  </td>
                  <th scope="row">
                    <Link href={trialHref(one.sweep_id, one.number)}>{one.number}</Link>
                  </th>
                  <td className="figures-number">{formatNumber(one.value)}</td>
                  {keys.map(key => (
                    <td key={key} className="figures-number">
                      {formatScore(figure(one.scores, key))}
                    </td>
                  ))}
                  <td>{weight !== undefined && <Bar weight={weight} most={most} />}</td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
      <ExportTable name="candidates" rows={() => candidateRows({ pool, metric, weights })} />
    </>
  );
}

function scoresOf(pool: readonly Contender[]): string[] {
  return ["accuracy", "log_loss", "rmse"].filter(key => pool.some(one => figure(one.scores, key) !== null));
}

/** The table for a file: a row for each trial, with its weight if it is a member. */
export function candidateRows({ pool, metric, weights }: Pick<CandidatesProps, "pool" | "metric" | "weights">): Rows {
  const keys = scoresOf(pool);
  return [
    ["trial", "sweep", metric, ...keys.map(key => `${metricOf(key).name} (validation)`), "member", "weight"],
    ...pool.map(one => [
      ...[one.number, one.sweep_id, one.value, ...keys.map(key => figure(one.scores, key))],
      ...[weights.has(one.trial_id), weights.get(one.trial_id)],
    ]),
  ];
}

function Bar({ weight, most }: { weight: number; most: number }) {
  return (
    <span className="candidates-weight">
      <span className="candidates-bar" aria-hidden="true" style={{ width: `${(weight / most) * 64}px` }} />
      {formatShare(weight)}
    </span>
  );
}
