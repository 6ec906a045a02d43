// The part of a canvas context that our charts use, written as SVG: the same code draws the picture and the file.

const ANCHORS: Record<string, string> = { center: "middle", right: "end", end: "end" };
const BASELINES: Record<string, string> = { middle: "central", top: "text-before-edge" };

class Drawing {
  strokeStyle = "#000";
  fillStyle = "#000";
  lineWidth = 1;
  lineJoin = "miter";
  globalAlpha = 1;
  font = "11px sans-serif";
  textAlign = "start";
  textBaseline = "alphabetic";
  dash: readonly number[] = [];
  transforms = "";
  clipId = "";
}

export class SvgContext extends Drawing {
  private readonly saved: Drawing[] = [];
  private readonly parts: string[] = [];
  private path: string[] = [];
  private clips = 0;

  constructor(
    private readonly width: number,
    private readonly height: number,
  ) {
    super();
  }

  save(): void {
    const state = new Drawing();
    for (const key of Object.keys(state) as (keyof Drawing)[]) Object.assign(state, { [key]: this[key] });
    this.saved.push(state);
  }

  restore(): void {
    Object.assign(this, this.saved.pop());
  }

  translate(x: number, y: number): void {
    this.transforms += `translate(${short(x)} ${short(y)})`;
  }

  rotate(angle: number): void {
    this.transforms += `rotate(${short((angle * 180) / Math.PI)})`;
  }

  setLineDash(dash: readonly number[]): void {
    this.dash = dash;
  }

  beginPath(): void {
    this.path = [];
  }

  moveTo(x: number, y: number): void {
    this.path.push(`M${short(x)} ${short(y)}`);
  }

  closePath(): void {
    this.path.push("z");
  }

  lineTo(x: number, y: number): void {
    this.path.push(`${this.path.length === 0 ? "M" : "L"}${short(x)} ${short(y)}`);
  }

  rect(x: number, y: number, width: number, height: number): void {
    this.path.push(`M${short(x)} ${short(y)}h${short(width)}v${short(height)}h${short(-width)}z`);
  }

  roundRect(x: number, y: number, width: number, height: number, radius: number): void {
    const r = Math.min(radius, width / 2, height / 2);
    const [across, down, turn] = [short(width - 2 * r), short(height - 2 * r), `a${short(r)} ${short(r)} 0 0 1`];
    const right = `h${across}${turn} ${short(r)} ${short(r)}v${down}${turn} ${short(-r)} ${short(r)}`;
    this.path.push(`M${short(x + r)} ${short(y)}${right}h${-across}${turn} ${short(-r)} ${short(-r)}v${-down}z`);
  }

  /** A whole circle; our charts draw no other arcs. */
  arc(x: number, y: number, radius: number): void {
    const [r, across] = [short(radius), short(2 * radius)];
    this.path.push(`M${short(x - radius)} ${short(y)}a${r} ${r} 0 1 0 ${across} 0a${r} ${r} 0 1 0 -${across} 0z`);
  }

  clip(): void {
    this.clips += 1;
    const within = this.clipId ? ` clip-path="url(#${this.clipId})"` : "";
    const transform = this.transforms ? ` transform="${this.transforms}"` : "";
    this.clipId = `clip-${this.clips}`;
    const path = `<path d="${this.path.join("")}"${transform}/>`;
    this.parts.push(`<clipPath id="${this.clipId}"${within}>${path}</clipPath>`);
  }

  stroke(): void {
    const dash = this.dash.length > 0 ? ` stroke-dasharray="${this.dash.join(" ")}"` : "";
    const line = `stroke="${this.strokeStyle}" stroke-width="${short(this.lineWidth)}" stroke-linejoin="${this.lineJoin}"${dash}`;
    this.add(`<path d="${this.path.join("")}" fill="none" ${line}`, "/>");
  }

  fill(): void {
    this.add(`<path d="${this.path.join("")}" fill="${this.fillStyle}"`, "/>");
  }

  fillRect(x: number, y: number, width: number, height: number): void {
    const size = `width="${short(width)}" height="${short(height)}"`;
    this.add(`<rect x="${short(x)}" y="${short(y)}" ${size} fill="${this.fillStyle}"`, "/>");
  }

  strokeRect(x: number, y: number, width: number, height: number): void {
    this.beginPath();
    this.rect(x, y, width, height);
    this.stroke();
  }

  /** An estimate: the file is drawn with the fonts of its reader. */
  measureText(text: string): { width: number } {
    return { width: text.length * 0.56 * Number(/([\d.]+)px/.exec(this.font)?.[1] ?? 11) };
  }

  fillText(text: string, x: number, y: number): void {
    const [, weight, size, family] = /^(?:(\d+) )?([\d.]+)px (.*)$/.exec(this.font) ?? [];
    const bold = weight ? ` font-weight="${weight}"` : "";
    const font = `font-size="${size ?? 11}"${bold} font-family="${escaped(family ?? "sans-serif")}"`;
    const place = `text-anchor="${ANCHORS[this.textAlign] ?? "start"}" dominant-baseline="${BASELINES[this.textBaseline] ?? "auto"}"`;
    const at = `x="${short(x)}" y="${short(y)}" fill="${this.fillStyle}"`;
    this.add(`<text ${at} ${font} ${place}`, `>${escaped(text)}</text>`);
  }

  toSvg(): string {
    const size = `width="${this.width}" height="${this.height}" viewBox="0 0 ${this.width} ${this.height}"`;
    return `<svg xmlns="http://www.w3.org/2000/svg" ${size}>${this.parts.join("\n")}</svg>\n`;
  }

  private add(start: string, end: string): void {
    const opacity = this.globalAlpha < 1 ? ` opacity="${this.globalAlpha}"` : "";
    const transform = this.transforms ? ` transform="${this.transforms}"` : "";
    const element = `${start}${opacity}${transform}${end}`;
    this.parts.push(this.clipId ? `<g clip-path="url(#${this.clipId})">${element}</g>` : element);
  }
}

function short(value: number): number {
  return Math.round(value * 100) / 100;
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}
