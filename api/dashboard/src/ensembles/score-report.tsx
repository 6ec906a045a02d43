// The report on an ensemble's scores on some rows, in panels: for an active ensemble, or for the builder's preview.
import { formatCount } from "../format";
import { Panel } from "../widgets/panel";
import { DisagreementMatrix } from "./disagreement-matrix";
import type { Figures } from "./ensemble-types-and-labels";
import { Against, type NamedMember, ScoresTable } from "./member-score-comparison";
import { DegradationView, quorumText } from "./quality-with-missing-members";
import { Reliability } from "./reliability";
import { formatScore } from "./score-metrics";
import "./score-report.css";

export function Flags({ flags }: { flags: readonly string[] }) {
  if (flags.length === 0) return null;
  return (
    <ul className="report-flags" aria-label="Caveats">
      {flags.map(flag => (
        <li key={flag}>Caveat: {flag}.</li>
      ))}
    </ul>
  );
}

/** The ensemble's uncertainty, and how it splits into its sources. */
function Uncertainty({ figures }: { figures: Figures }) {
  const uncertainty = figures.uncertainty;
  if ("predictive_entropy" in uncertainty) {
    return (
      <p className="report-doubt">
        Predictive entropy: {formatScore(uncertainty.predictive_entropy)} nats ={" "}
        {formatScore(uncertainty.expected_entropy)} mean entropy of the members +{" "}
        {formatScore(uncertainty.mutual_information)} from disagreement.
      </p>
    );
  }
  return (
    <p className="report-doubt">
      Predictive variance: {formatScore(uncertainty.total_variance)} = {formatScore(uncertainty.noise_variance)} noise +{" "}
      {formatScore(uncertainty.variance_of_means)} from disagreement.
    </p>
  );
}

type ReportProps = { figures: Figures; members: readonly NamedMember[] };

/** The scores that show whether the ensemble is better. */
export function ReportSummary({ figures, members }: ReportProps) {
  return (
    <div className="report-lead">
      <Flags flags={figures.flags} />
      <Against figures={figures} />
      <ScoresTable figures={figures} members={members} />
      <Uncertainty figures={figures} />
    </div>
  );
}

/** The scores that explain why. */
export function ReportGrid({ figures, members }: ReportProps) {
  const names = figures.members.map((_, position) => members[position]?.name ?? `Member ${position}`);
  return (
    <div className="report-grid">
      <Panel title="Disagreement">
        <DisagreementMatrix figures={figures} names={names} />
      </Panel>
      {figures.reliability.length > 0 && (
        <Panel
          title="Calibration"
          hint="Bins of equal mass. On the dotted line, predictions with confidence 0.8 are correct 80 % of the time."
        >
          <Reliability figures={figures} />
        </Panel>
      )}
      <div className={figures.reliability.length > 0 ? "report-wide" : undefined}>
        <Panel title="When members are missing" hint={quorumText(figures)}>
          <DegradationView figures={figures} />
        </Panel>
      </div>
    </div>
  );
}

/** "on 360 rows of test" */
export function rowsText(rows: number, split: string, available = rows): string {
  const count = available > rows ? `${formatCount(rows)} of the ${formatCount(available)}` : formatCount(rows);
  return split === "posted" ? `${count} custom rows` : `${count} ${split} rows`;
}
