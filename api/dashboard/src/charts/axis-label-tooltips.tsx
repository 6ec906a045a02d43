// Tooltips of the axis labels that are cut: the canvas shows a part of the name, the pointer all of it.
import type { Axis } from "./axis";
import { type Frame, labelsIn } from "./plot-area-and-grid";

export function PlotLabels({ frame, x, y }: { frame: Frame; x: Axis; y: Axis }) {
  return labelsIn(frame, x, y)
    .filter(({ text, full }) => text !== full)
    .map(({ of, text, full, left, top, width, height }) => (
      <span
        key={`${of} ${left} ${top} ${text}`}
        className="plot-label"
        title={full}
        style={{ left, top, width, height }}
        aria-hidden="true"
      />
    ));
}
