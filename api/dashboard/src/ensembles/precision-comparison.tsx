// Members in float32 and in a lower precision, with the same rows: accuracy, loss, latency and memory.
import { ExportTable } from "../charts/export";
import type { Rows } from "../charts/export-file";
import { formatBytes, formatNumber } from "../format";
import { ScrollX } from "../widgets/scroll-x";
import type { Ensemble, EvaluationResult, PrecisionScores } from "./ensemble-types-and-labels";
import type { NamedMember } from "./member-score-comparison";
import { formatScore } from "./score-metrics";
import "./precision-comparison.css";

export type MeasuredMember = { name: string; used: string | null; reason: string; figures: readonly PrecisionScores[] };

/** The members that were requested in a lower precision, as measured when they were built. */
export function builtPrecisions(ensemble: Ensemble): MeasuredMember[] {
  return ensemble.members
    .filter(member => member.precision.requested !== "float32")
    .map(member => ({
      name: `Trial ${member.trial_number}`,
      used: member.precision.used,
      reason: member.precision.used ? member.precision.reason : `${member.precision.requested}: being measured`,
      figures: member.precision.figures,
    }));
}

/** The same on the rows of an evaluation. */
export function evaluatedPrecisions(result: EvaluationResult, members: readonly NamedMember[]): MeasuredMember[] {
  return (result.precisions ?? []).map(one => ({
    name: members[one.position]?.name ?? `Member ${one.position}`,
    used: one.served,
    reason: one.problem,
    figures: one.figures,
  }));
}

export function PrecisionTable({ members, loss }: { members: readonly MeasuredMember[]; loss: string }) {
  return (
    <>
      <ScrollX label="Precisions">
        <table className="figures">
          <thead>
            <tr>
              <th scope="col">Member</th>
              <th scope="col">Precision</th>
              {["Accuracy", loss, "p50, 1 row", "p50, 256 rows", "Weights", "Process"].map(name => (
                <th key={name} scope="col" className="figures-number">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {members.flatMap(member =>
              member.figures.map(figures => (
                <tr key={`${member.name} ${figures.precision}`}>
                  <th scope="row">{member.name}</th>
                  <td>
                    {figures.precision}
                    {figures.precision === member.used && <span className="figures-best">served</span>}
                  </td>
                  <FigureCells figures={figures} />
                </tr>
              )),
            )}
          </tbody>
        </table>
      </ScrollX>
      <ul className="precisions-reasons">
        {members
          .filter(member => member.reason)
          .map(member => (
            <li key={member.name}>
              {member.name}: {member.reason}
            </li>
          ))}
      </ul>
      <ExportTable name="precisions" rows={() => precisionRows(members, loss)} />
    </>
  );
}

/** The table for a file: a row for each precision of each member. */
export function precisionRows(members: readonly MeasuredMember[], loss: string): Rows {
  return [
    [
      ...["member", "precision", "served", "Accuracy", loss, "p50 of 1 row (ms)", "p50 of 256 rows (ms)"],
      ...["weights (bytes)", "process (bytes)", "error"],
    ],
    ...members.flatMap(member =>
      member.figures.map(figures => {
        const [one, several] = figures.p50_us.map(us => us / 1000);
        const measured = [figures.accuracy, figures.loss, one, several, figures.weights_bytes, figures.process_bytes];
        const cells = figures.error ? measured.map(() => null) : measured;
        return [member.name, figures.precision, figures.precision === member.used, ...cells, figures.error];
      }),
    ),
  ];
}

function FigureCells({ figures }: { figures: PrecisionScores }) {
  if (figures.error) return <td colSpan={6}>{figures.error}</td>;
  const [one, several] = figures.p50_us;
  const ms = (us: number | undefined) => (us === undefined ? "–" : `${formatNumber(us / 1000, 3)} ms`);
  return (
    <>
      <td className="figures-number">{formatScore(figures.accuracy)}</td>
      <td className="figures-number">{formatScore(figures.loss)}</td>
      <td className="figures-number">{ms(one)}</td>
      <td className="figures-number">{ms(several)}</td>
      <td className="figures-number">{formatBytes(figures.weights_bytes)}</td>
      <td className="figures-number">{formatBytes(figures.process_bytes)}</td>
    </>
  );
}
