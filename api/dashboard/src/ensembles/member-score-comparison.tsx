// The scores of the ensemble and of each member on the same rows, and whether the difference is significant.

import { Link } from "wouter";
import { ExportTable } from "../charts/export";
import type { Rows } from "../charts/export-file";
import { formatCount, formatNumber } from "../format";
import { ScrollX } from "../widgets/scroll-x";
import type { Figures } from "./ensemble-types-and-labels";
import { figure, formatChange, formatScore, metricOf, metricsOf } from "./score-metrics";
import "./member-score-comparison.css";

export type NamedMember = { name: string; href?: string };

export function ScoresTable({ figures, members }: { figures: Figures; members: readonly NamedMember[] }) {
  const metrics = metricsOf([figures.ensemble, ...figures.members]);
  const rows = [
    { who: <strong>Ensemble</strong>, key: "ensemble", scores: figures.ensemble, own: true },
    ...figures.members.map((scores, position) => ({
      who: (
        <NetworkName
          named={members[position] ?? { name: `Member ${position}` }}
          best={position === figures.best_member}
        />
      ),
      key: `member-${position}`,
      scores,
      own: false,
    })),
  ];
  return (
    <>
      <ScrollX label="Scores">
        <table className="figures">
          <thead>
            <tr>
              <th scope="col">Network</th>
              {metrics.map(metric => (
                <th key={metric.key} scope="col" className="figures-number">
                  {metric.name}
                  {metric.unit && <span className="figures-unit"> {metric.unit}</span>}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map(row => (
              <tr key={row.key} className={row.own ? "figures-own" : undefined}>
                <th scope="row">{row.who}</th>
                {metrics.map(metric => (
                  <td key={metric.key} className="figures-number">
                    {formatScore(figure(row.scores, metric.key))}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollX>
      <ExportTable name="scores" rows={() => scoreRows(figures, members)} />
    </>
  );
}

/** The table for a file: a row for the ensemble and for each member. */
export function scoreRows(figures: Figures, members: readonly NamedMember[]): Rows {
  const metrics = metricsOf([figures.ensemble, ...figures.members]);
  const head = metrics.map(({ name, unit }) => (unit ? `${name} (${unit})` : name));
  const scores = (found: Figures["ensemble"]) => metrics.map(({ key }) => figure(found, key));
  return [
    ["network", "best single", ...head],
    ["ensemble", false, ...scores(figures.ensemble)],
    ...figures.members.map((found, position) => [
      members[position]?.name ?? `Member ${position}`,
      position === figures.best_member,
      ...scores(found),
    ]),
  ];
}

function NetworkName({ named, best }: { named: NamedMember; best: boolean }) {
  return (
    <>
      {named.href ? <Link href={named.href}>{named.name}</Link> : named.name}
      {best && (
        <span className="figures-best" title="The best member on the validation split">
          best single
        </span>
      )}
    </>
  );
}

/** Ensemble minus best single network with its 95 % interval, as text and as a picture. */
export function Against({ figures }: { figures: Figures }) {
  const main = metricOf(figures.metric);
  return (
    <div className="against">
      <Interval
        name={main.name}
        better={main.better}
        value={figures.difference}
        range={figures.difference_ci95 as [number, number]}
      />
      {figures.log_loss_difference !== null && figures.log_loss_difference_ci95 !== null && (
        <Interval
          name="Log loss"
          better="less"
          value={figures.log_loss_difference}
          range={figures.log_loss_difference_ci95 as [number, number]}
        />
      )}
      {figures.mcnemar && (
        <p className="against-test">
          Correct where the other is wrong: the ensemble on {rows(figures.mcnemar.only_ensemble_right)}, the best single
          network on {rows(figures.mcnemar.only_best_right)}; McNemar’s p = {formatNumber(figures.mcnemar.p_value, 2)}.
        </p>
      )}
    </div>
  );
}

function rows(count: number): string {
  return count === 1 ? "1 row" : `${formatCount(count)} rows`;
}

/** "better", "worse", or that the rows do not show a difference. */
export function verdict(range: readonly [number, number], better: "more" | "less"): string {
  const [low, high] = better === "more" ? range : [-range[1], -range[0]];
  if (low > 0) return "better";
  return high < 0 ? "worse" : "no significant difference on these rows";
}

type IntervalProps = { name: string; better: "more" | "less"; value: number; range: [number, number] };

function Interval({ name, better, value, range }: IntervalProps) {
  const reach = Math.max(Math.abs(range[0]), Math.abs(range[1]), Math.abs(value), 1e-9) * 1.1;
  const place = (figure: number) => `${50 + (figure / reach) * 50}%`;
  const found = verdict(range, better);
  return (
    <div className="interval">
      <p>
        {name}: <strong>{formatChange(value)}</strong> against the best single network{" "}
        <span className={`interval-verdict interval-${found.split(" ")[0]}`}>{found}</span>
      </p>
      <div className="interval-track" aria-hidden="true">
        <span className="interval-zero" />
        <span className="interval-bar" style={{ left: place(range[0]), right: `calc(100% - ${place(range[1])})` }} />
        <span className="interval-dot" style={{ left: place(value) }} />
      </div>
      <p className="interval-hint">
        95 % interval {formatChange(range[0])} to {formatChange(range[1])}; {better} is better
      </p>
    </div>
  );
}
