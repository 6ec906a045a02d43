// Exported tables are valid CSV, and exported pictures valid SVG with what the canvas shows.
import { numberAxis } from "./axis";
import { csvOf } from "./export-file";
import { clipped, drawFrame, frameIn } from "./plot-area-and-grid";
import { SvgContext } from "./svg-context";

test("cells with commas, quotes and line breaks are quoted", async () => {
  const csv = csvOf([
    ["line", "loss"],
    ['a, "b"\nc', 0.5],
  ]);
  expect(await csv.text()).toBe('line,loss\r\n"a, ""b""\nc",0.5\r\n');
  expect(csv.type).toBe("text/csv");
});

test("the same code draws SVG, with text as text and lines in the plot area", () => {
  const context = new SvgContext(300, 200);
  const [x, y] = [numberAxis("x", "<step>", [0, 10]), numberAxis("y", "", [1, 100], { log: true })];
  const frame = frameIn({ width: 300, height: 200 }, y);
  const canvas = context as unknown as CanvasRenderingContext2D;
  drawFrame(canvas, frame, x, y);
  clipped(canvas, frame, () => {
    canvas.setLineDash([5, 4]);
    canvas.globalAlpha = 0.5;
    canvas.beginPath();
    canvas.moveTo(1, 2);
    canvas.lineTo(3.456, 4);
    canvas.stroke();
  });
  const parsed = new DOMParser().parseFromString(context.toSvg(), "image/svg+xml");
  const texts = [...parsed.querySelectorAll("text")].map(each => each.textContent);
  expect(texts).toContain("<step>");
  expect(texts).toContain("log scale");
  expect(context.toSvg()).toContain('clip-path="url(#clip-1)"><path d="M1 2L3.46 4" fill="none"');
  expect(context.toSvg()).toContain('stroke-dasharray="5 4" opacity="0.5"');
});

test("a clip inside a translated drawing is translated, and rounded bars are closed paths", () => {
  const context = new SvgContext(100, 100);
  context.save();
  context.translate(10, 20);
  context.beginPath();
  context.rect(0, 0, 5, 5);
  context.clip();
  context.beginPath();
  context.roundRect(0, 0, 10, 4, 2);
  context.fill();
  context.restore();
  context.strokeRect(1, 1, 2, 2);
  const svg = context.toSvg();
  expect(svg).toContain('<clipPath id="clip-1"><path d="M0 0h5v5h-5z" transform="translate(10 20)"/></clipPath>');
  expect(svg).toMatch(/d="M2 0h6a2 2 0 0 1 2 2v0[^"]*z" fill/);
  expect(svg).toContain('d="M1 1h2v2h-2z" fill="none"');
});

test("missing cells are empty", async () => {
  expect(
    await csvOf([
      ["a", "b", "c"],
      [null, undefined, false],
    ]).text(),
  ).toBe("a,b,c\r\n,,false\r\n");
});
