// All that is measured of an ensemble on some rows, in panels: of one that answers, or of one that could be built.
import { formatCount } from "../format";
import { Panel } from "../widgets/panel";
import { DegradationView, quorumSaid } from "./degradation";
import { DisagreementMatrix } from "./matrix";
import { Reliability } from "./reliability";
import { Against, type Named, ScoresTable } from "./scores";
import { type Figures, formatScore } from "./types";
import "./report.css";

export function Flags({ flags }: { flags: readonly string[] }) {
  if (flags.length === 0) return null;
  return (
    <ul className="report-flags" aria-label="What makes these figures less than they seem">
      {flags.map(flag => (
        <li key={flag}>Beware: {flag}.</li>
      ))}
    </ul>
  );
}

/** How sure the ensemble is, and where its doubt comes from. */
function Doubt({ figures }: { figures: Figures }) {
  const doubt = figures.uncertainty;
  if ("predictive_entropy" in doubt) {
    return (
      <p className="report-doubt">
        Doubt of an answer: {formatScore(doubt.predictive_entropy)} nats = {formatScore(doubt.expected_entropy)} of the
        members’ own + {formatScore(doubt.mutual_information)} of their disagreement.
      </p>
    );
  }
  return (
    <p className="report-doubt">
      Variance of an answer: {formatScore(doubt.total_variance)} = {formatScore(doubt.noise_variance)} of the noise +{" "}
      {formatScore(doubt.variance_of_means)} of the members’ disagreement.
    </p>
  );
}

type ReportProps = { figures: Figures; members: readonly Named[] };

/** The figures that say whether it is worth it. */
export function ReportLead({ figures, members }: ReportProps) {
  return (
    <div className="report-lead">
      <Flags flags={figures.flags} />
      <Against figures={figures} />
      <ScoresTable figures={figures} members={members} />
      <Doubt figures={figures} />
    </div>
  );
}

/** The figures that say why. */
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
          hint="Bins of equal mass. On the dotted line, a confidence of 0.8 is right 80 % of the time."
        >
          <Reliability figures={figures} />
        </Panel>
      )}
      <div className={figures.reliability.length > 0 ? "report-wide" : undefined}>
        <Panel title="When members are missing" hint={quorumSaid(figures)}>
          <DegradationView figures={figures} />
        </Panel>
      </div>
    </div>
  );
}

/** "on 360 rows of test" */
export function rowsSaid(rows: number, split: string, there = rows): string {
  const some = there > rows ? `${formatCount(rows)} of the ${formatCount(there)}` : formatCount(rows);
  return split === "posted" ? `${some} rows that were posted` : `${some} ${split} rows`;
}
