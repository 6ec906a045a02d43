// Saves a chart of curves as a picture (PNG, SVG) or as a table (CSV).
import { SvgContext } from "./svg-context";

export type Exported = {
  name: string; // of the file, without its extension
  width: number;
  height: number;
  ground: string; // the colour behind the chart
  draw: (context: CanvasRenderingContext2D) => void;
  rows: () => readonly (readonly (string | number)[])[]; // the first has the names of the columns
};
export type ExportKind = "png" | "svg" | "csv";

const SCALE = 2; // pixels of a PNG per pixel of the page

export async function exportCurves(chart: Exported, kind: ExportKind): Promise<void> {
  const content = kind === "csv" ? csvOf(chart.rows()) : kind === "svg" ? svgOf(chart) : await pngOf(chart);
  save(content, `${chart.name.replace(/[^\w.-]+/g, "-")}.${kind}`);
}

/** Comma-separated values as in RFC 4180. */
export function csvOf(rows: readonly (readonly (string | number)[])[]): Blob {
  const cell = (value: string | number) => {
    const text = String(value);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return new Blob([rows.map(row => `${row.map(cell).join(",")}\r\n`).join("")], { type: "text/csv" });
}

function svgOf({ width, height, ground, draw }: Exported): Blob {
  const context = new SvgContext(width, height);
  context.fillStyle = ground;
  context.fillRect(0, 0, width, height);
  draw(context as unknown as CanvasRenderingContext2D);
  return new Blob([context.toSvg()], { type: "image/svg+xml" });
}

async function pngOf({ width, height, ground, draw }: Exported): Promise<Blob> {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [width * SCALE, height * SCALE];
  const context = canvas.getContext("2d");
  if (!context) throw new Error("The browser cannot draw the picture.");
  context.scale(SCALE, SCALE);
  context.fillStyle = ground;
  context.fillRect(0, 0, width, height);
  draw(context);
  return new Promise((resolve, reject) =>
    canvas.toBlob(blob => (blob ? resolve(blob) : reject(new Error("The picture is too large."))), "image/png"),
  );
}

function save(content: Blob, name: string): void {
  const url = URL.createObjectURL(content);
  const link = document.createElement("a");
  [link.href, link.download] = [url, name];
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
