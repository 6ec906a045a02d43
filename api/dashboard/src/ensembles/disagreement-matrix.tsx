// The pairwise disagreement of members.

import { formatNumber, formatShare } from "../format";
import { ScrollX } from "../widgets/scroll-x";
import type { Figures } from "./ensemble";
import "./disagreement-matrix.css";

export function DisagreementMatrix({ figures, names }: { figures: Figures; names: readonly string[] }) {
  const labels = figures.task === "classification";
  const matrix = figures.disagreement;
  const most = Math.max(...matrix.flat(), 1e-12);
  const format = (value: number) => (labels ? formatShare(value) : formatNumber(value));
  const pairs = matrix.flatMap((row, one) => row.slice(one + 1));
  if (pairs.length === 0)
    return <p className="matrix-note">The ensemble has one member, so there is no disagreement.</p>;
  const mean = pairs.reduce((sum, value) => sum + value, 0) / pairs.length;
  return (
    <>
      <p className="matrix-note">
        {labels
          ? `On average, two members predict different labels on ${formatShare(mean)} of the rows.`
          : `On average, the values of two members differ by ${formatNumber(mean)} (root mean square).`}
      </p>
      <ScrollX label="Disagreement">
        <table className="matrix">
          <caption className="hidden-text">
            {labels ? "Share of rows with different labels" : "Root mean square of the difference"}, by members
          </caption>
          <thead>
            <tr>
              <td />
              {names.map(name => (
                <th key={name} scope="col">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {matrix.map((row, one) => (
              <tr key={names[one]}>
                <th scope="row">{names[one]}</th>
                {row.map((value, other) =>
                  one === other ? (
                    <td key={names[other]} className="matrix-self">
                      –
                    </td>
                  ) : (
                    <td key={names[other]} className={`matrix-${Math.min(4, Math.floor((value / most) * 4.99))}`}>
                      {format(value)}
                    </td>
                  ),
                )}
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollX>
    </>
  );
}
