// The inputs of recent requests against the training rows: the features that differ most.
import { useQuery } from "@tanstack/react-query";
import { api, done, type Schemas } from "../api";
import { barFigure } from "../charts/bar-export";
import { ExportMenu } from "../charts/export";
import type { Figure } from "../charts/export-file";
import { formatCount, formatNumber } from "../format";
import { keys } from "../query-keys";
import { Panel } from "../widgets/panel";
import { QueryResult } from "../widgets/query-states";
import { ScrollX } from "../widgets/scroll-x";

type Drift = Schemas["DriftView"];

const REFRESH_MS = 30_000;

export function DriftPanel({ ensembleId }: { ensembleId: number }) {
  const query = useQuery({
    queryKey: keys.ensemble(ensembleId, "drift"),
    queryFn: ({ signal }) => {
      const params = { path: { ensemble_id: ensembleId } };
      return done(api.GET("/api/v1/ensembles/{ensemble_id}/drift", { params, signal }));
    },
    refetchInterval: REFRESH_MS,
    placeholderData: undefined,
  });
  return (
    <Panel title="Drift of inputs" hint="Rows of the last hour, sampled, against the training rows.">
      <QueryResult query={query} rows={3}>
        {drift => <Features drift={drift} />}
      </QueryResult>
    </Panel>
  );
}

function Features({ drift }: { drift: Drift }) {
  if (drift.problem !== "") return <p>Nothing to compare: {drift.problem}.</p>;
  return (
    <>
      <p>{summaryOf(drift)}</p>
      <ScrollX label="Features that differ most">
        <table className="figures">
          <thead>
            <tr>
              <th scope="col">Feature</th>
              <th scope="col">Training mean</th>
              <th scope="col">± std</th>
              <th scope="col">Recent mean</th>
              <th scope="col">± std</th>
              <th scope="col">Difference (std)</th>
            </tr>
          </thead>
          <tbody>
            {drift.features.map(each => (
              <tr key={each.feature}>
                <th scope="row" className="mono">
                  {each.name}
                </th>
                <td>{formatNumber(each.train_mean)}</td>
                <td>{formatNumber(each.train_std)}</td>
                <td>{formatNumber(each.recent_mean)}</td>
                <td>{formatNumber(each.recent_std)}</td>
                <td>{each.difference === null ? "another constant" : formatNumber(each.difference, 3)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollX>
      <div className="plot-foot plot-foot-end">
        <ExportMenu name="drift" figure={() => figureOf(drift)} />
      </div>
    </>
  );
}

function figureOf({ features }: Drift): Figure {
  const bars = features.flatMap(({ name, difference }) =>
    difference === null ? [] : [{ name, value: Math.abs(difference), text: formatNumber(difference, 3) }],
  );
  const head = ["feature", "training mean", "training std", "recent mean", "recent std", "difference (training std)"];
  const rows = features.map(each => [
    ...[each.name, each.train_mean, each.train_std, each.recent_mean, each.recent_std, each.difference],
  ]);
  const title = "Drift of inputs: difference of means in standard deviations";
  return barFigure({ name: "drift", title }, bars, ["", ""], () => [head, ...rows]);
}

export function summaryOf({ notable, threshold, rows }: Drift): string {
  const of = `of ${formatCount(rows)} recent rows`;
  if (notable === 0) return `No feature ${of} differs by more than ${threshold} standard deviations.`;
  const what = notable === 1 ? "1 feature" : `${formatCount(notable)} features`;
  return `${what} ${of} ${notable === 1 ? "differs" : "differ"} by more than ${threshold} standard deviations.`;
}
