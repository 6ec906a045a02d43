// Time without a running trial: one line per reason, the longest first.
import { barFigure } from "../charts/bar-export";
import { ExportMenu } from "../charts/export";
import type { Figure } from "../charts/export-file";
import { formatCount, formatDuration, formatShare } from "../format";
import { type DeviceLine, isIdleTime, type Reason } from "./device-bars-and-gaps";
import { reasonsOfAll } from "./idle-reason-totals";
import { GAP_KINDS, reasonText } from "./segment-text";

const SHOWN = 8;

export function Reasons({ lines }: { lines: readonly DeviceLine[] }) {
  const all = reasonsOfAll(lines);
  const total = all.reduce((sum, one) => sum + one.total_s, 0);
  if (total === 0) return <p className="timeline-note">No idle time: every device ran trials all the time.</p>;
  const longest = all[0]?.total_s ?? 1;
  const rest = all.slice(SHOWN);
  return (
    <>
      <table className="timeline-reasons">
        <thead>
          <tr>
            <th scope="col">Reason</th>
            <th scope="col" className="timeline-figure">
              Device time
            </th>
            <th scope="col" className="timeline-figure timeline-wide-only">
              Share
            </th>
            <th scope="col" className="timeline-figure timeline-wide-only">
              Gaps
            </th>
          </tr>
        </thead>
        <tbody>
          {all.slice(0, SHOWN).map(one => (
            <tr key={`${one.why}/${one.reason}`}>
              <td>
                <span>{reasonText(one)}</span>
                <span className="timeline-kind">
                  {one.reason === "" ? "" : `${GAP_KINDS[one.why].name} · `}
                  {isIdleTime(one.why) ? "Available" : "Unavailable"}
                </span>
                <span className="timeline-track" aria-hidden="true">
                  <span
                    className={isIdleTime(one.why) ? "timeline-part" : "timeline-part timeline-part-closed"}
                    style={{ width: `${(100 * one.total_s) / longest}%` }}
                  />
                </span>
              </td>
              <td className="timeline-figure">{formatDuration(one.total_s)}</td>
              <td className="timeline-figure timeline-wide-only">{shareOf(one.total_s, total)}</td>
              <td className="timeline-figure timeline-wide-only">{formatCount(one.gaps)}</td>
            </tr>
          ))}
          {rest.length > 0 && (
            <tr>
              <td>{formatCount(rest.length)} other reasons</td>
              <td className="timeline-figure">{formatDuration(rest.reduce((sum, one) => sum + one.total_s, 0))}</td>
              <td className="timeline-figure timeline-wide-only">
                {shareOf(
                  rest.reduce((sum, one) => sum + one.total_s, 0),
                  total,
                )}
              </td>
              <td className="timeline-figure timeline-wide-only">
                {formatCount(rest.reduce((sum, one) => sum + one.gaps, 0))}
              </td>
            </tr>
          )}
        </tbody>
      </table>
      <div className="plot-foot plot-foot-end">
        <ExportMenu name="idle time by reason" figure={() => figureOf(all)} />
      </div>
    </>
  );
}

function figureOf(reasons: readonly Reason[]): Figure {
  const bars = reasons.map(one => ({ name: reasonText(one), value: one.total_s, text: formatDuration(one.total_s) }));
  const head = ["kind", "reason", "device time (s)", "gaps", "available"];
  const rows = reasons.map(one => [GAP_KINDS[one.why].name, one.reason, one.total_s, one.gaps, isIdleTime(one.why)]);
  return barFigure({ name: "idle-time", title: "Idle time by reason" }, bars, ["", ""], () => [head, ...rows]);
}

function shareOf(part: number, total: number): string {
  const share = part / total;
  return share > 0 && share < 0.005 ? "< 1 %" : formatShare(share, 0);
}
