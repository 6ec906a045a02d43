// The legend of a chart, below it on the page and in exported pictures.
import { token } from "../theme";
import { shades } from "./colour";

type Box = { x: number; y: number; width: number; height: number };
/** `paint` draws a sign of its own in a picture; a note has no sign. */
export type LegendItem = { label: string } & (
  | { sign: "dot" | "line" | "dashed" | "ring" | "cross" | "square"; token: string }
  | { sign: "ramp" }
  | { sign: "note" }
  | { sign: "paint"; paint: (context: CanvasRenderingContext2D, box: Box) => void }
);

const [ROW, GAP, TEXT] = [18, 18, 6.4]; // px: height, between items, width of a letter
const WIDTHS: Record<LegendItem["sign"], number> = {
  ...{ dot: 14, ring: 14, cross: 14, square: 14, line: 22, dashed: 22, ramp: 66, note: 0, paint: 28 },
};

export function Legend({ items, label }: { items: readonly LegendItem[]; label?: string }) {
  return (
    <ul className="plot-legend" aria-label={label}>
      {items.map(item => (
        <li key={item.label}>
          <Sign item={item} /> {item.label}
        </li>
      ))}
    </ul>
  );
}

function Sign({ item }: { item: LegendItem }) {
  if (item.sign === "ramp") return <span className="plot-ramp" />;
  if (!("token" in item)) return null;
  const style = { "--sign": `var(${item.token})` } as React.CSSProperties;
  return (
    <span className={`plot-sign plot-sign-${item.sign}`} style={style} aria-hidden="true">
      {item.sign === "cross" && "×"}
    </span>
  );
}

export function legendHeight(items: readonly LegendItem[], width: number): number {
  return (placesIn(items, width).at(-1)?.y ?? 0) + (items.length > 0 ? ROW : 0);
}

export function drawLegend(context: CanvasRenderingContext2D, items: readonly LegendItem[], width: number): void {
  context.font = `12px ${token("--font")}`;
  placesIn(items, width).forEach(({ item, x, y }) => {
    const box = { x, y: y + 3, width: WIDTHS[item.sign] - 6, height: ROW - 6 };
    context.globalAlpha = 1;
    drawSign(context, item, box);
    context.fillStyle = token("--text-2");
    context.textAlign = "left";
    context.textBaseline = "middle";
    context.fillText(item.label, x + WIDTHS[item.sign], y + ROW / 2);
  });
}

/** Items from left to right, in as many lines as they need. */
function placesIn(items: readonly LegendItem[], width: number): { item: LegendItem; x: number; y: number }[] {
  let [x, y] = [0, 0];
  return items.map(item => {
    const long = WIDTHS[item.sign] + item.label.length * TEXT;
    if (x > 0 && x + long > width) [x, y] = [0, y + ROW];
    const place = { item, x, y };
    x += long + GAP;
    return place;
  });
}

function drawSign(context: CanvasRenderingContext2D, item: LegendItem, box: Box): void {
  if (item.sign === "paint") item.paint(context, box);
  else if (item.sign === "ramp") drawRamp(context, box);
  else if (item.sign !== "note") drawShape(context, item, box);
}

type Shape = Extract<LegendItem, { token: string }>;

function drawShape(context: CanvasRenderingContext2D, { sign, ...item }: Shape, box: Box): void {
  const middle = { x: box.x + 4, y: box.y + box.height / 2 };
  context.strokeStyle = context.fillStyle = token(item.token);
  context.lineWidth = sign === "line" || sign === "dashed" ? 2.5 : 1.5;
  context.setLineDash(sign === "dashed" ? [4, 3] : []);
  context.beginPath();
  if (sign === "dot" || sign === "ring") context.arc(middle.x, middle.y, 4, 0, 2 * Math.PI);
  else if (sign === "square") context.rect(box.x, middle.y - 4, 8, 8);
  else trace(context, sign, middle, box);
  if (sign === "dot" || sign === "square") context.fill();
  else context.stroke();
  context.setLineDash([]);
}

function trace(context: CanvasRenderingContext2D, sign: string, middle: { x: number; y: number }, box: Box): void {
  if (sign !== "cross") {
    context.moveTo(box.x, middle.y);
    context.lineTo(box.x + box.width, middle.y);
    return;
  }
  for (const turn of [1, -1]) {
    context.moveTo(middle.x - 3.5, middle.y - 3.5 * turn);
    context.lineTo(middle.x + 3.5, middle.y + 3.5 * turn);
  }
}

function drawRamp(context: CanvasRenderingContext2D, box: Box): void {
  const colours = shades();
  const wide = box.width / colours.length;
  colours.forEach((colour, step) => {
    context.fillStyle = colour;
    context.fillRect(box.x + step * wide, box.y + 2, wide + 0.5, box.height - 4);
  });
}
