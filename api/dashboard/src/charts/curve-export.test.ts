// Exported tables are valid CSV, and exported pictures valid SVG with what the canvas shows.
import { numberAxis } from "./axis";
import { csvOf } from "./curve-export";
import { clipped, drawFrame, frameIn } from "./frame";
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
