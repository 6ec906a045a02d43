// Parameter importance, as bars in a table.
import type { Schemas } from "../api";
import { formatCount, formatShare } from "../format";
import { CutName } from "../widgets/cut-name";
import { barFigure } from "./bar-export";
import { ExportMenu } from "./export";
import type { Figure } from "./export-file";
import "./importance.css";

export type ImportanceView = Schemas["ImportanceView"];

/** `filtered`: whether the page has a filter, which the importances of a sweep do not follow. */
export function Importance({ importance, filtered }: { importance: ImportanceView; filtered: boolean }) {
  const shares = Object.entries(importance.importances ?? {});
  const most = Math.max(...shares.map(([, share]) => share), 0.01);
  const left = Object.entries(importance.left_out);
  return (
    <div className="importance">
      <table>
        <thead className="hidden-text">
          <tr>
            <th scope="col">Parameter</th>
            <th scope="col">Importance</th>
          </tr>
        </thead>
        <tbody>
          {shares.map(([name, share]) => (
            <tr key={name}>
              <th scope="row" title={name}>
                <CutName name={name} />
              </th>
              <td>
                <span className="importance-track">
                  <span className="importance-bar" style={{ width: `${(100 * share) / most}%` }} />
                </span>
                <span className="importance-share">{formatShare(share)}</span>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      <div className="plot-foot">
        <p className="importance-note">{noteOf(importance, filtered)}</p>
        <ExportMenu name="importance" figure={() => figureOf(importance)} />
      </div>
      {left.length > 0 && (
        <details className="importance-note">
          <summary>{formatCount(left.length)} not computed</summary>
          <ul>
            {left.map(([name, reason]) => (
              <li key={name}>
                <b>{name}</b>: {reason}
              </li>
            ))}
          </ul>
        </details>
      )}
    </div>
  );
}

function figureOf({ importances, metric }: ImportanceView): Figure {
  const bars = Object.entries(importances ?? {}).map(([name, value]) => ({ name, value, text: formatShare(value) }));
  const title = `Importance of parameters for the rank of ${metric}`;
  return barFigure({ name: "importance", title }, bars, ["parameter", "importance (share of variance)"]);
}

/** The number of trials that the result is based on, and whether an update is in progress. */
function noteOf(importance: ImportanceView, filtered: boolean): string {
  const { as_of, trials, state, finished, reason } = importance;
  if (as_of === null || trials === null) return "";
  const sample = trials < as_of ? `, from a sample of ${formatCount(trials)}` : "";
  const scope = filtered ? " The filter does not apply." : "";
  const base = `Based on ${formatCount(as_of)} finished trials${sample}.${scope}`;
  if (state === "computing") return `${base} Updating: ${formatCount(finished)} trials have finished.`;
  return state === "failed" ? `${base} Not updated: ${reason}.` : base;
}
