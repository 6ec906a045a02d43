// The pairwise disagreement of members.

import { ExportMenu } from "../charts/export";
import type { Figure } from "../charts/export-file";
import { formatNumber, formatShare, shortened } from "../format";
import { token } from "../theme";
import { ScrollX } from "../widgets/scroll-x";
import type { Figures } from "./ensemble-types-and-labels";
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
      <div className="plot-foot plot-foot-end">
        <ExportMenu name="disagreement" figure={() => figureOf(figures, names, format)} />
      </div>
    </>
  );
}

const [CELL, ROW, NAME] = [84, 30, 160]; // px, in a picture

function figureOf(
  { disagreement, task }: Figures,
  names: readonly string[],
  format: (value: number) => string,
): Figure {
  const what = task === "classification" ? "share of rows with different labels" : "root mean square of the difference";
  return {
    name: "disagreement",
    title: `Disagreement of members: ${what}`,
    size: { width: NAME + names.length * CELL, height: (names.length + 1) * ROW },
    draw: context => drawMatrix(context, disagreement, names, format),
    rows: () => [["member", ...names], ...disagreement.map((row, one) => [names[one], ...row])],
  };
}

function drawMatrix(
  context: CanvasRenderingContext2D,
  matrix: Figures["disagreement"],
  names: readonly string[],
  format: (value: number) => string,
): void {
  const most = Math.max(...matrix.flat(), 1e-12);
  context.font = `12px ${token("--font")}`;
  context.textBaseline = "middle";
  context.textAlign = "center";
  const text = (shown: string, column: number, row: number) =>
    context.fillText(shown, NAME + (column + 0.5) * CELL, (row + 1.5) * ROW);
  context.fillStyle = token("--text-2");
  for (const [column, name] of names.entries()) text(shortened(name, 12), column, -1);
  for (const [one, row] of matrix.entries()) {
    context.fillStyle = token("--text-2");
    context.textAlign = "left";
    context.fillText(shortened(names[one] ?? "", 24), 0, (one + 1.5) * ROW);
    context.textAlign = "center";
    for (const [other, value] of row.entries()) {
      if (one === other) continue;
      context.fillStyle = token("--accent");
      context.globalAlpha = 0.45 * (value / most);
      context.fillRect(NAME + other * CELL, (one + 1) * ROW, CELL - 2, ROW - 2);
      context.globalAlpha = 1;
      context.fillStyle = token("--text");
      text(format(value), other, one);
    }
  }
}
