// Rasterizes thousands of lines over parallel axes into arrays: each pixel counts the lines through it, so a brush
// redraws only the lines that enter or leave it. Stroking a canvas would redraw all of them. The opacity of a pixel is
// the density of its lines relative to the densest parts of the picture, its color their mean shade. Pure.
import type { Rgb } from "./colour";
import { axisX, type Lines, placeY } from "./draw-parallel-lines";

export type RasterColours = { shades: readonly Rgb[]; behind: Rgb }; // worst to best; the first is for unknown values

const [FAINT, STRONG] = [0.16, 0.8]; // opacity of a pixel with one line, and of the densest ones
const DENSEST = 0.95; // of the pixels with lines have fewer than the densest ones
const CURVE = 0.75; // of opacity over density
const SAMPLED = [7, 11] as const; // one pixel of this many counts for the density
const COUNTS = 1024; // largest distinguished number of lines in a pixel
const LEVELS = 32; // of opacity
const [BEHIND, BEHINDS] = [0.22, 8]; // opacity of one line outside, and the largest distinguished number
const BLOCK = 16; // columns processed at a time
const MIXES = 3; // colours between two shades
const [BITS, ONE] = [16, 1 << 16]; // subpixel positions
const PARTS = 3; // per pixel: lines inside, the sum of their shades, lines outside

/** Lines at a given pixel size; shade 0 is for lines of unknown value. */
export class ParallelLineRaster {
  private readonly sums: Int32Array; // by column, then by row
  private readonly xs: number[];
  private readonly ys: Int16Array[]; // by axis; -1: not on it
  private shown: Uint8Array | null = null;
  private palette: { theme: string; pixels: Uint32Array } | null = null;

  constructor(
    readonly lines: Lines,
    readonly shades: Uint8Array,
    readonly width: number,
    readonly height: number,
    size: { width: number; height: number }, // in CSS pixels
  ) {
    this.sums = new Int32Array(PARTS * width * height);
    const [across, up] = [width / size.width, height / size.height];
    const count = lines.places.length;
    this.xs = lines.places.map((_, index) => Math.round(axisX(index, count, size.width) * across));
    const row = (place: number) => Math.min(height - 1, Math.round(placeY(place, size.height) * up));
    this.ys = lines.places.map(places => Int16Array.from(places, place => (Number.isNaN(place) ? -1 : row(place))));
  }

  /** Marks these lines as inside and all others as outside, and redraws only those that change. Returns their number. */
  show(inside: Uint8Array): number {
    const before = this.shown;
    let changed = 0;
    for (let line = 0; line < this.lines.count; line += 1) {
      const isIn = inside[line] as number;
      if (before?.[line] === isIn) continue;
      const shade = this.shades[line] as number;
      const sign = isIn ? 1 : -1;
      if (before) this.trace(line, sign, sign * shade, -sign);
      else this.trace(line, isIn, isIn && shade, 1 - isIn);
      changed += 1;
    }
    this.shown = inside.slice();
    return changed;
  }

  private trace(line: number, count: number, sum: number, outside: number): void {
    for (let axis = 1; axis < this.xs.length; axis += 1) {
      const from = (this.ys[axis - 1] as Int16Array)[line] as number;
      const to = (this.ys[axis] as Int16Array)[line] as number;
      if (from < 0 || to < 0) continue;
      this.segment(this.xs[axis - 1] as number, from, this.xs[axis] as number, to, count, sum, outside);
    }
  }

  /** One pixel per column, or per row where the line is steep, without gaps. The last pixel belongs to the next segment. */
  private segment(x0: number, y0: number, x1: number, y1: number, count: number, sum: number, outside: number): void {
    const { sums, height } = this;
    const steps = Math.max(x1 - x0, Math.abs(y1 - y0));
    const [right, down] = [Math.trunc((ONE * (x1 - x0)) / steps), Math.trunc((ONE * (y1 - y0)) / steps)];
    let [x, y] = [x0 * ONE + ONE / 2, y0 * ONE + ONE / 2];
    for (let step = 0; step < steps; step += 1) {
      const at = PARTS * ((x >> BITS) * height + (y >> BITS));
      sums[at] = (sums[at] as number) + count;
      sums[at + 1] = (sums[at + 1] as number) + sum;
      sums[at + 2] = (sums[at + 2] as number) + outside;
      x += right;
      y += down;
    }
  }

  /** The image, one number per pixel in canvas format. Without `lit`, only lines outside are drawn. */
  paint(pixels: Uint32Array, colours: RasterColours, lit = true): void {
    const { sums, width, height } = this;
    const mixes = (colours.shades.length - 1) * MIXES + 1;
    const colourOf = this.paletteFor(colours, mixes);
    const levelOf = lit ? this.levels() : new Uint8Array(COUNTS);
    for (let left = 0; left < width; left += BLOCK) {
      const right = Math.min(left + BLOCK, width);
      for (let y = 0; y < height; y += 1) {
        let at = PARTS * (left * height + y);
        for (let place = y * width + left; place < y * width + right; place += 1) {
          const count = sums[at] as number;
          const level = levelOf[Math.min(count, COUNTS - 1)] as number;
          const mix = level > 0 ? ((MIXES * (sums[at + 1] as number)) / count + 0.5) | 0 : 0;
          const outside = Math.min(sums[at + 2] as number, BEHINDS - 1);
          pixels[place] = colourOf[(outside * LEVELS + level) * mixes + mix] as number;
          at += PARTS * height;
        }
      }
    }
  }

  private paletteFor(colours: RasterColours, mixes: number): Uint32Array {
    const theme = [...colours.shades, colours.behind].join();
    if (this.palette?.theme !== theme) this.palette = { theme, pixels: paletteOf(colours, mixes) };
    return this.palette.pixels;
  }

  /** The level of opacity by the number of lines in a pixel: 0 only without lines. */
  private levels(): Uint8Array {
    const pixels = new Uint32Array(COUNTS);
    let drawn = 0;
    const every = this.height % SAMPLED[0] === 0 ? SAMPLED[1] : SAMPLED[0]; // a divisor would leave rows out
    for (let at = 0; at < this.sums.length; at += PARTS * every) {
      const count = this.sums[at] as number;
      if (count === 0) continue;
      const known = Math.min(count, COUNTS - 1);
      pixels[known] = (pixels[known] as number) + 1;
      drawn += 1;
    }
    let densest = 1;
    for (let below = pixels[1] as number; below < DENSEST * drawn; below += pixels[densest] as number) densest += 1;
    const levelOf = (count: number) =>
      1 + Math.round((LEVELS - 2) * Math.min(1, (count - 1) / Math.max(1, densest - 1)) ** CURVE);
    return Uint8Array.from({ length: COUNTS }, (_, count) => (count === 0 ? 0 : levelOf(count)));
  }
}

/** The color of a pixel by lines outside, level of opacity, and mean shade. */
function paletteOf({ shades, behind: below }: RasterColours, mixes: number): Uint32Array {
  const palette = new Uint32Array(BEHINDS * LEVELS * mixes);
  for (let mix = 0; mix < mixes; mix += 1) {
    const low = Math.min(Math.floor(mix / MIXES), shades.length - 2);
    const share = mix / MIXES - low;
    const [from, to] = [shades[low] as Rgb, shades[low + 1] as Rgb];
    const above = [0, 1, 2].map(part => (from[part] as number) * (1 - share) + (to[part] as number) * share) as Rgb;
    for (let outside = 0; outside < BEHINDS; outside += 1) {
      for (let level = 0; level < LEVELS; level += 1) {
        const alpha = level === 0 ? 0 : FAINT + ((STRONG - FAINT) * (level - 1)) / (LEVELS - 2);
        const shining = (1 - (1 - BEHIND) ** outside) * (1 - alpha);
        palette[(outside * LEVELS + level) * mixes + mix] = mixed(above, alpha, below, shining);
      }
    }
  }
  return palette;
}

function mixed(above: Rgb, alpha: number, below: Rgb, shining: number): number {
  const all = alpha + shining;
  if (all === 0) return 0;
  const red = (above[0] * alpha + below[0] * shining) / all;
  const green = (above[1] * alpha + below[1] * shining) / all;
  const blue = (above[2] * alpha + below[2] * shining) / all;
  return (((all * 255 + 0.5) << 24) | ((blue + 0.5) << 16) | ((green + 0.5) << 8) | (red + 0.5)) >>> 0;
}
