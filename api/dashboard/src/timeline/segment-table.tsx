// The timeline as a table of all trials and gaps in view, also for screen readers.
import { Link } from "wouter";
import { formatCount, formatDuration, formatTime } from "../format";
import { trialHref } from "../trials/trial-references";
import { Empty } from "../widgets/query-states";
import { StateBadge } from "../widgets/state-badge";
import type { Segment } from "./device-bars-and-gaps";
import { type Lane, within } from "./draw";
import { barTitle, GAP_KINDS, mergedText, reasonText } from "./segment-text";
import type { Span } from "./visible-span";

const SHOWN = 200;

type Props = { lanes: readonly Lane[]; span: Span; names: Record<string, string> };

export function SegmentTable({ lanes, span, names }: Props) {
  const all = lanes.flatMap(lane =>
    [...within<Segment>(lane.bars, span), ...within<Segment>(lane.gaps, span)].map(piece => ({
      device: lane.id,
      piece,
    })),
  );
  const longest = [...all].sort((one, other) => long(other.piece) - long(one.piece)).slice(0, SHOWN);
  const rows = longest.sort((one, other) => other.piece.start - one.piece.start);
  if (rows.length === 0) return <Empty title="No recorded activity" hint="Select another time range." />;
  return (
    <div className="timeline-table">
      {all.length > SHOWN && (
        <p className="timeline-note">
          Showing the longest {SHOWN} of {formatCount(all.length)}; zoom in to see more.
        </p>
      )}
      <table>
        <thead>
          <tr>
            <th scope="col">From</th>
            <th scope="col">Device</th>
            <th scope="col">Activity</th>
            <th scope="col" className="timeline-figure">
              Duration
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ device, piece }) => (
            <tr key={`${device} ${piece.kind} ${piece.start}`}>
              <td>{formatTime(piece.start)}</td>
              <td>{device}</td>
              <td>{what(piece, names)}</td>
              <td className="timeline-figure">{formatDuration(long(piece))}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function what(piece: Segment, names: Record<string, string>) {
  if (piece.kind === "gap") {
    const named = piece.reason === "" ? "" : `${GAP_KINDS[piece.why].name}: `;
    const merged = piece.gaps > 1 ? ` (${mergedText(piece)})` : "";
    return <span className="timeline-gap-text">{named + reasonText(piece) + merged}</span>;
  }
  if (piece.trialId === null) return barTitle(piece, names);
  return (
    <>
      <StateBadge state={piece.state} />{" "}
      <Link href={trialHref(Number(piece.sweepId), piece.number)}>{barTitle(piece, names, false)}</Link>
    </>
  );
}

function long({ start, end }: Segment): number {
  return end - start;
}
