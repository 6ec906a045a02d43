// Bars with their names and values, as a chart for export: what pages show as bars in a table or a list.
import type { Size } from "../auto-redraw-canvas";
import { shortened } from "../format";
import { token } from "../theme";
import type { Figure, Rows } from "./export-file";

export type Bar = { name: string; value: number; text: string };

const [ROW, NAME, VALUE, CHAR] = [26, 260, 90, 6.6]; // px: height, width of names and values, of a letter

/** The rows default to the names and values, under these names of columns. */
export function barFigure(
  chart: Pick<Figure, "name" | "title">,
  bars: readonly Bar[],
  columns: readonly [string, string],
  rows?: () => Rows,
): Figure {
  return {
    ...chart,
    size: { width: 720, height: Math.max(1, bars.length) * ROW },
    draw: (context, size) => drawBars(context, size, bars),
    rows: rows ?? (() => [columns, ...bars.map(({ name, value }) => [name, value])]),
  };
}

function drawBars(context: CanvasRenderingContext2D, { width }: Size, bars: readonly Bar[]): void {
  const most = Math.max(...bars.map(({ value }) => value), 1e-12);
  context.font = `12px ${token("--font")}`;
  context.textBaseline = "middle";
  bars.forEach(({ name, value, text }, index) => {
    const middle = (index + 0.5) * ROW;
    context.fillStyle = token("--text");
    context.textAlign = "left";
    context.fillText(shortened(name, Math.floor(NAME / CHAR) - 1), 0, middle);
    context.fillStyle = token("--surface-2");
    context.fillRect(NAME, middle - 7, width - NAME - VALUE, 14);
    context.fillStyle = token("--accent");
    context.fillRect(NAME, middle - 7, ((width - NAME - VALUE) * Math.max(0, value)) / most, 14);
    context.fillStyle = token("--text-2");
    context.textAlign = "right";
    context.fillText(text, width, middle);
  });
}
