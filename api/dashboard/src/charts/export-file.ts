// Writes a chart to a file: a picture (PNG, SVG) with title and legend in light colours, or its numbers (CSV).
import type { Size } from "../auto-redraw-canvas";
import { token, withLightTokens } from "../theme";
import { drawLegend, type LegendItem, legendHeight } from "./legend";
import { SvgContext } from "./svg-context";

export type Cell = string | number | boolean | null | undefined;
export type Rows = readonly (readonly Cell[])[]; // the first has the names of the columns, with units
export type Figure = {
  name: string; // of the chart, in the name of the file
  title: string; // above the picture
  size?: Size; // of the drawing
  draw: (context: CanvasRenderingContext2D, size: Size) => void;
  legend?: readonly LegendItem[];
  rows: () => Rows | Promise<Rows>;
};
export type ExportKind = "png" | "svg" | "csv";

const SCALE = 2; // pixels of a PNG per pixel of the page
const SIZE: Size = { width: 900, height: 480 };
const [MARGIN, TITLE, GAP] = [16, 44, 10]; // px around, for the title, and above the legend
const MAX_NAME = 120; // characters
const MAX_SIDE = 16_000; // pixels: larger canvases are not drawn by browsers

/** Saves the file; `of`: what the chart is about, for example the name of the sweep. */
export async function exportFigure(figure: Figure, kind: ExportKind, of: string): Promise<void> {
  save(await contentOf(figure, kind, of), fileNameOf(of, figure.name, kind));
}

async function contentOf(figure: Figure, kind: ExportKind, of: string): Promise<Blob> {
  if (kind === "csv") return csvOf(await figure.rows());
  return kind === "svg" ? svgOf(figure, of) : pngOf(figure, of);
}

export function fileNameOf(of: string, name: string, kind: ExportKind): string {
  const parts = [of, name].map(part => part.replace(/[^\p{L}\p{N}_.]+/gu, "-").replace(/^[-.]+|-+$/g, ""));
  return `${parts.filter(Boolean).join("-").slice(0, MAX_NAME)}.${kind}`;
}

/** Comma-separated values as in RFC 4180; missing values are empty. */
export function csvOf(rows: Rows): Blob {
  const cell = (value: Cell) => {
    const text = value === null || value === undefined ? "" : String(value);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return new Blob([rows.map(row => `${row.map(cell).join(",")}\r\n`).join("")], { type: "text/csv" });
}

export function svgOf(figure: Figure, of: string): Blob {
  const size = sizeOf(figure);
  const context = new SvgContext(size.width, size.height);
  withLightTokens(() => drawFigure(context as unknown as CanvasRenderingContext2D, figure, of, size));
  return new Blob([context.toSvg()], { type: "image/svg+xml" });
}

async function pngOf(figure: Figure, of: string): Promise<Blob> {
  const size = sizeOf(figure);
  const canvas = document.createElement("canvas");
  const scale = Math.min(SCALE, MAX_SIDE / Math.max(size.width, size.height));
  [canvas.width, canvas.height] = [Math.round(size.width * scale), Math.round(size.height * scale)];
  const context = canvas.getContext("2d");
  if (!context) throw new Error("The browser cannot draw the picture.");
  context.scale(scale, scale);
  withLightTokens(() => drawFigure(context, figure, of, size));
  return new Promise((resolve, reject) =>
    canvas.toBlob(blob => (blob ? resolve(blob) : reject(new Error("The picture is too large."))), "image/png"),
  );
}

function sizeOf({ size = SIZE, legend = [] }: Figure): Size {
  const below = legend.length > 0 ? GAP + legendHeight(legend, size.width) : 0;
  return { width: size.width + 2 * MARGIN, height: size.height + TITLE + below + 2 * MARGIN };
}

function drawFigure(context: CanvasRenderingContext2D, figure: Figure, of: string, whole: Size): void {
  const size = figure.size ?? SIZE;
  context.fillStyle = token("--surface");
  context.fillRect(0, 0, whole.width, whole.height);
  context.textBaseline = "alphabetic";
  context.textAlign = "left";
  context.fillStyle = token("--text");
  context.font = `600 15px ${token("--font")}`;
  context.fillText(figure.title, MARGIN, MARGIN + 12);
  context.fillStyle = token("--text-2");
  context.font = `12px ${token("--font")}`;
  context.fillText(of, MARGIN, MARGIN + 30);
  moved(context, MARGIN, MARGIN + TITLE, () => figure.draw(context, size));
  moved(context, MARGIN, MARGIN + TITLE + size.height + GAP, () =>
    drawLegend(context, figure.legend ?? [], size.width),
  );
}

function moved(context: CanvasRenderingContext2D, x: number, y: number, draw: () => void): void {
  context.save();
  context.translate(x, y);
  draw();
  context.restore();
}

function save(content: Blob, name: string): void {
  const url = URL.createObjectURL(content);
  const link = document.createElement("a");
  [link.href, link.download] = [url, name];
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
