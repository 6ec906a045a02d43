// The resources of a trial: processor, memory up to its limit, storage and GPU, of all ranks or of one.
import { useMemo, useState } from "react";
import { formatDuration } from "../format";
import type { Attempt, Trial } from "../pages/trial/queries";
import { useQueryState } from "../url-query-state";
import { Panel } from "../widgets/panel";
import { QueryResult } from "../widgets/query-states";
import { Select } from "../widgets/select";
import { formatMeasure, MEASURES, type Measure, type Point, pointsOf } from "./measures";
import { type Samples, type Usage, useUsage } from "./queries";
import { UsagePlot } from "./usage-plot";
import "./usage.css";

const TABLE_ROWS = 200;
const KILLED_BY: Record<string, string> = { host_memory: "memory", device_memory: "gpu_memory" };

export function Resources({ trial }: { trial: Trial }) {
  const [chosen] = useQueryState("attempt"); // that of the log
  const number = Number(chosen) || trial.attempt;
  const attempt = trial.attempts.find(each => each.number === number);
  const [rank, setRank] = useState("");
  const usage = useUsage(trial.id, chosen === "" ? null : number, attempt?.ended_at === null);
  if (!attempt) return null;
  const ranks = usage.data?.ranks ?? [];
  return (
    <Panel
      title="Resources"
      hint={trial.attempts.length > 1 ? `of attempt ${number}` : undefined}
      actions={
        ranks.length > 0 && (
          <Select
            label="Show"
            value={rank}
            onChange={setRank}
            options={[
              { value: "", name: "all ranks" },
              ...ranks.map(each => ({ value: String(each.rank), name: `rank ${each.rank} on ${each.device}` })),
            ]}
          />
        )
      }
    >
      <QueryResult query={usage} rows={4}>
        {found => <Charts usage={found} attempt={attempt} rank={rank} />}
      </QueryResult>
    </Panel>
  );
}

type ChartsProps = { usage: Usage; attempt: Attempt; rank: string };

function Charts({ usage, attempt, rank }: ChartsProps) {
  const [hovered, setHovered] = useState<number | null>(null);
  const one = usage.ranks.find(each => String(each.rank) === rank);
  const samples = one?.samples ?? usage.total;
  const isSum = usage.ranks.length > 1 && one === undefined;
  const charts = useMemo(
    () =>
      MEASURES.map(measure => ({ measure, lines: measure.lines.map(({ key }) => pointsOf(samples, key)) })).filter(
        ({ lines }) => lines.some(points => points.length > 0),
      ),
    [samples],
  );
  if (charts.length === 0) return <p className="trial-none">{missingText(attempt)}</p>;
  const limitOf = ({ limit }: Measure) => (limit && !isSum ? usage[limit] : null); // limits are those of one rank
  return (
    <>
      <div className="usages">
        {charts.map(({ measure, lines }) => (
          <UsagePlot
            key={measure.key}
            measure={measure}
            lines={lines}
            limit={limitOf(measure)}
            killed={attempt.cause !== null && KILLED_BY[attempt.cause] === measure.key}
            hovered={hovered}
            onHover={setHovered}
          />
        ))}
      </div>
      <details className="usage-table">
        <summary>Show as table</summary>
        <UsageTable samples={samples} charts={charts} />
      </details>
    </>
  );
}

function missingText(attempt: Attempt): string {
  if (attempt.ended_at === null) return "The first sample follows within a second.";
  return "Not measured: the attempt ended within a quarter of a second, or ran in an earlier version.";
}

type Chart = { measure: Measure; lines: Point[][] };

function UsageTable({ samples, charts }: { samples: Samples; charts: Chart[] }) {
  const columns = charts.flatMap(({ measure }) => measure.lines.map(line => ({ ...line, measure })));
  const first = Math.max(0, samples.at.length - TABLE_ROWS);
  const start = (samples.at[0] ?? 0) - (samples.span_s[0] ?? 0);
  const rows = samples.at.slice(first).map((at, index) => ({ at, row: first + index }));
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable areas must be reachable by keyboard
    <div className="trial-scroll usage-rows" tabIndex={0}>
      <table className="trial-table">
        <caption className="hidden-text">The last {TABLE_ROWS} samples, newest first</caption>
        <thead>
          <tr>
            <th scope="col" className="trial-figure">
              After
            </th>
            {columns.map(({ key, name, measure }) => (
              <th key={key} scope="col" className="trial-figure">
                {measure.lines.length > 1 ? `${measure.name}, ${name}` : measure.name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.reverse().map(({ at, row }) => (
            <tr key={at}>
              <th scope="row" className="trial-figure">
                {formatDuration(at - start)}
              </th>
              {columns.map(({ key, measure }) => (
                <td key={key} className="trial-figure mono">
                  {formatMeasure(samples[key][row], measure.unit)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
