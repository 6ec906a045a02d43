// The tooltip of a timeline item: the trial, or the reason for the gap.
import { Button } from "../widgets/button";
import { Icon } from "../widgets/icon";
import type { Segment } from "./device-bars-and-gaps";
import { barTitle, GAP_KINDS, reasonText, spanText } from "./segment-text";

export type TooltipTarget = { piece: Segment; device: string; x: number; y: number; pinned: boolean };

type Props = TooltipTarget & {
  names: Record<string, string>;
  width: number;
  onClose: () => void;
  onOpen: (piece: Segment) => void;
};

const WIDE = 300;

export function Tooltip({ piece, device, x, y, pinned, names, width, onClose, onOpen }: Props) {
  const left = Math.max(0, Math.min(x + 14, width - Math.min(WIDE, width)));
  return (
    <div className={pinned ? "timeline-tip timeline-tip-pinned" : "timeline-tip"} style={{ left, top: y + 18 }}>
      <strong>{piece.kind === "bar" ? barTitle(piece, names) : reasonText(piece)}</strong>
      <span>
        {piece.kind === "gap" && piece.reason !== "" && `${GAP_KINDS[piece.why].name} · `}
        {device} · {spanText(piece)}
      </span>
      {pinned ? (
        <div className="timeline-tip-actions">
          <Button small onClick={() => onOpen(piece)}>
            {opens(piece)}
          </Button>
          <Button quiet small title="Close" onClick={onClose}>
            <Icon name="close" size={14} />
          </Button>
        </div>
      ) : (
        <span className="timeline-tip-hint">Click: {opens(piece).toLowerCase()} · drag: zoom in</span>
      )}
    </div>
  );
}

function opens(piece: Segment): string {
  return piece.kind === "bar" && piece.trialId !== null ? "Open the trial" : "Zoom in here";
}
