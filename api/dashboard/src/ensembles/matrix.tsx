// How much each two members differ: what an ensemble lives of.

import { formatNumber, formatShare } from "../format";
import { ScrollX } from "./scroll-x";
import type { Figures } from "./types";
import "./matrix.css";

export function DisagreementMatrix({ figures, names }: { figures: Figures; names: readonly string[] }) {
  const labels = figures.task === "classification";
  const matrix = figures.disagreement;
  const most = Math.max(...matrix.flat(), 1e-12);
  const said = (value: number) => (labels ? formatShare(value) : formatNumber(value));
  const pairs = matrix.flatMap((row, one) => row.slice(one + 1));
  if (pairs.length === 0) return <p className="matrix-note">There is one member: nobody to disagree with.</p>;
  const mean = pairs.reduce((sum, value) => sum + value, 0) / pairs.length;
  return (
    <>
      <p className="matrix-note">
        {labels
          ? `Two members give different labels on ${formatShare(mean)} of the rows, on average.`
          : `Two members’ values differ by ${formatNumber(mean)} (root mean square), on average.`}
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
                      {said(value)}
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
