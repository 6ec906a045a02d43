// The buttons and keys that change the visible span of the timeline and switch to the table.
import { formatDuration, formatTime } from "../format";
import { useKeys } from "../keyboard";
import { Button } from "../widgets/button";
import { Icon } from "../widgets/icon";
import { panned, type Span, zoomed } from "./visible-span";

type Props = {
  span: Span;
  zoomedIn: boolean;
  limits: Span;
  onSpan: (span: Span | null) => void;
  asTable: boolean;
  onAsTable: (on: boolean) => void;
};

export function Controls({ span, zoomedIn, limits, onSpan, asTable, onAsTable }: Props) {
  const middle = (span.from + span.to) / 2;
  const closer = () => onSpan(zoomed(span, 0.5, middle, limits));
  const farther = () => onSpan(zoomed(span, 2, middle, limits));
  const earlier = () => onSpan(panned(span, -0.5, limits));
  const later = () => onSpan(panned(span, 0.5, limits));
  const all = () => onSpan(null);
  useKeys("Timeline", {
    "+": { does: "zoom in", run: closer },
    "-": { does: "zoom out", run: farther },
    ArrowLeft: { does: "pan to earlier", run: earlier },
    ArrowRight: { does: "pan to later", run: later },
    "0": { does: "show all", run: all },
    t: { does: "toggle table view", run: () => onAsTable(!asTable) },
  });
  return (
    <div className="timeline-controls">
      <p className="timeline-span" aria-live="polite">
        {formatTime(span.from)} – {sameDay(span) ? formatTime(span.to).slice(11) : formatTime(span.to)}
        <span className="timeline-width">{formatDuration(span.to - span.from)}</span>
      </p>
      <div className="timeline-buttons">
        {zoomedIn && (
          <Button small onClick={all}>
            Show all
          </Button>
        )}
        <Button small title="Earlier (←)" aria-label="Earlier" onClick={earlier}>
          <Icon name="left" size={14} />
        </Button>
        <Button small title="Later (→)" aria-label="Later" onClick={later} disabled={span.to >= limits.to - 0.001}>
          <Icon name="right" size={14} />
        </Button>
        <Button small title="Zoom out (−)" aria-label="Zoom out" onClick={farther}>
          −
        </Button>
        <Button small title="Zoom in (+)" aria-label="Zoom in" onClick={closer}>
          +
        </Button>
        <Button small aria-pressed={asTable} onClick={() => onAsTable(!asTable)}>
          Show as table
        </Button>
      </div>
    </div>
  );
}

function sameDay({ from, to }: Span): boolean {
  return formatTime(from).slice(0, 10) === formatTime(to).slice(0, 10);
}
