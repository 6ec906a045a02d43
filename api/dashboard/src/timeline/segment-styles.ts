// Styles of bars and gaps on the canvas: each gap reason has a colour and a pattern, so that colour is never the only cue.
import { token } from "../theme";
import type { Bar, Gap, Why } from "./device-bars-and-gaps";

type Box = { x: number; y: number; width: number; height: number };
type Pattern = "slant" | "back" | "cross" | "dots" | "lines" | "none";
type Paint = { background: string; ink: string; pattern: Pattern };

export const GAP_PAINT: Record<Why, Paint> = {
  between: { background: "--surface-2", ink: "--line-strong", pattern: "none" },
  choosing: { background: "--surface-2", ink: "--text-3", pattern: "dots" },
  idle: { background: "--surface-2", ink: "--line-strong", pattern: "slant" },
  dedicated: { background: "--accent-soft", ink: "--series-6", pattern: "lines" },
  drained: { background: "--pruned-soft", ink: "--pruned", pattern: "back" },
  lost: { background: "--failed-soft", ink: "--failed", pattern: "cross" },
  starting: { background: "--surface-2", ink: "--running", pattern: "dots" },
  down: { background: "--failed-soft", ink: "--failed", pattern: "slant" },
  unknown: { background: "--surface-3", ink: "--text-3", pattern: "back" },
  absent: { background: "--surface", ink: "--surface", pattern: "none" },
};

const BAR_TOKENS: Record<string, string> = {
  finished: "--finished",
  pruned: "--pruned",
  failed: "--failed",
  cancelled: "--waiting",
  running: "--running",
};

export function barToken(state: string): string {
  return BAR_TOKENS[state] ?? "--waiting";
}

export function paintGap(context: CanvasRenderingContext2D, why: Why, box: Box): void {
  const { background, ink, pattern } = GAP_PAINT[why];
  context.fillStyle = token(background);
  context.fillRect(box.x, box.y, box.width, box.height);
  if (pattern === "none" || box.width < 3) return;
  context.save();
  context.beginPath();
  context.rect(box.x, box.y, box.width, box.height);
  context.clip();
  context.globalAlpha = 0.45;
  context.strokeStyle = token(ink);
  context.fillStyle = token(ink);
  context.lineWidth = 1;
  paintPattern(context, pattern, box);
  context.restore();
}

function paintPattern(context: CanvasRenderingContext2D, pattern: Pattern, { x, y, width, height }: Box): void {
  context.beginPath();
  const first = Math.floor((x - height) / 8) * 8;
  for (let at = first; at < x + width + height; at += 8) {
    if (pattern === "slant" || pattern === "cross") line(context, at, y + height, at + height, y);
    if (pattern === "back" || pattern === "cross") line(context, at, y, at + height, y + height);
    if (pattern === "dots") for (let down = 5; down < height; down += 7) context.rect(at, y + down, 1.5, 1.5);
  }
  if (pattern === "lines") for (let down = 4; down < height; down += 6) line(context, x, y + down, x + width, y + down);
  context.stroke();
  if (pattern === "dots") context.fill();
}

function line(context: CanvasRenderingContext2D, x1: number, y1: number, x2: number, y2: number): void {
  context.moveTo(x1, y1);
  context.lineTo(x2, y2);
}

/** `muted`: belongs to another sweep. */
export function paintBar(context: CanvasRenderingContext2D, bar: Bar, box: Box, muted: boolean): void {
  const share = bar.attempts > 1 ? Math.min(1, bar.busy / Math.max(1e-9, bar.end - bar.start)) : 1;
  context.fillStyle = token(muted ? "--line-strong" : barToken(bar.state));
  context.globalAlpha = (muted ? 0.6 : 1) * (bar.attempts > 1 ? 0.3 + 0.7 * share : 1);
  if (box.width >= 4) {
    context.beginPath();
    context.roundRect(box.x, box.y, box.width, box.height, 2);
    context.fill();
  } else context.fillRect(box.x, box.y, box.width, box.height);
  context.globalAlpha = 1;
  if (muted) return;
  if (bar.attempts > 1 && bar.failed > 0 && bar.state !== "failed") {
    context.fillStyle = token("--failed");
    context.fillRect(box.x, box.y + box.height - 4, box.width, 4);
  }
  if (bar.isRunning) paintEdge(context, box);
}

/** A running bar has an open right end. */
function paintEdge(context: CanvasRenderingContext2D, box: Box): void {
  context.fillStyle = token("--surface");
  for (let down = 2; down < box.height; down += 5) context.fillRect(box.x + box.width - 2, box.y + down, 2, 2);
}

/** The trial number on a bar or the reason in a gap, if there is space. */
export function paintText(context: CanvasRenderingContext2D, text: string, ink: string, box: Box): void {
  const room = box.width - 10;
  if (room < 12 || text === "") return;
  context.fillStyle = token(ink);
  let shown = text;
  if (context.measureText(text).width > room) {
    const letters = Math.floor((text.length * room) / context.measureText(text).width) - 1;
    if (letters < 6) return;
    shown = `${text.slice(0, letters).trimEnd()}…`;
  }
  context.textBaseline = "middle";
  context.fillText(shown, box.x + 5, box.y + box.height / 2 + 0.5);
}

export function gapInk(gap: Gap): string {
  return gap.why === "lost" || gap.why === "down" ? "--failed" : gap.why === "drained" ? "--pruned" : "--text-2";
}
