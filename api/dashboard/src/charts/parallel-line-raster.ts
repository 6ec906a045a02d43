// Rasterizes thousands of lines over parallel axes into arrays: each pixel counts the lines through it, so a brush
// redraws only the lines that enter or leave it. Stroking a canvas would redraw all of them. Pure.
import type { Rgb } from "./colour";
import { axisX, type Lines, placeY } from "./parallel-lines";

export type RasterColours = { shades: readonly Rgb[]; behind: Rgb }; // worst to best; the first is for unknown values

const GROWTH = 1.3; // how much more a line counts than one of the next lower shade: the best is on top
const [FAINT, SATURATION] = [0.22, 0.5]; // opacity of one line of the worst shade, and how fast overlapping lines become opaque
const OPAQUE = 1024; // weight above which a pixel is opaque
const BLOCK = 16; // columns processed at a time
const MIXES = 8; // colours between two shades
const [BITS, ONE] = [16, 1 << 16]; // subpixel positions
const PARTS = 3; // per pixel: weight of the lines inside, weight times shade, lines outside

/** Lines at a given pixel size; shade 0 is for lines of unknown value. */
export class ParallelLineRaster {
  private readonly sums: Int32Array; // by column, then by row
  private readonly xs: number[];
  private readonly ys: Int16Array[]; // by axis; -1: not on it
  private readonly weights: Int32Array;
  private shown: Uint8Array | null = null;

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
    this.weights = Int32Array.from(shades, shade => Math.round(GROWTH ** shade));
  }

  /** Marks these lines as inside and all others as outside, and redraws only those that change. Returns their number. */
  show(inside: Uint8Array): number {
    const before = this.shown;
    let changed = 0;
    for (let line = 0; line < this.lines.count; line += 1) {
      const isIn = inside[line] as number;
      if (before?.[line] === isIn) continue;
      const weight = this.weights[line] as number;
      const sum = weight * (this.shades[line] as number);
      const sign = isIn ? 1 : -1;
      if (before) this.trace(line, sign * weight, sign * sum, -sign);
      else this.trace(line, isIn && weight, isIn && sum, 1 - isIn);
      changed += 1;
    }
    this.shown = inside.slice();
    return changed;
  }

  private trace(line: number, weight: number, sum: number, outside: number): void {
    for (let axis = 1; axis < this.xs.length; axis += 1) {
      const from = (this.ys[axis - 1] as Int16Array)[line] as number;
      const to = (this.ys[axis] as Int16Array)[line] as number;
      if (from < 0 || to < 0) continue;
      this.segment(this.xs[axis - 1] as number, from, this.xs[axis] as number, to, weight, sum, outside);
    }
  }

  /** One pixel per column, or per row where the line is steep, without gaps. The last pixel belongs to the next segment. */
  private segment(x0: number, y0: number, x1: number, y1: number, weight: number, sum: number, outside: number): void {
    const { sums, height } = this;
    const steps = Math.max(x1 - x0, Math.abs(y1 - y0));
    const [right, down] = [Math.trunc((ONE * (x1 - x0)) / steps), Math.trunc((ONE * (y1 - y0)) / steps)];
    let [x, y] = [x0 * ONE + ONE / 2, y0 * ONE + ONE / 2];
    for (let step = 0; step < steps; step += 1) {
      const at = PARTS * ((x >> BITS) * height + (y >> BITS));
      sums[at] = (sums[at] as number) + weight;
      sums[at + 1] = (sums[at + 1] as number) + sum;
      sums[at + 2] = (sums[at + 2] as number) + outside;
      x += right;
      y += down;
    }
  }

  /** The image, one number per pixel in canvas format. Without `lit`, only lines outside are drawn. */
  paint(pixels: Uint32Array, colours: RasterColours, lit = true): void {
    const { sums, width, height } = this;
    const style = styleOf(colours);
    for (let left = 0; left < width; left += BLOCK) {
      const right = Math.min(left + BLOCK, width);
      for (let y = 0; y < height; y += 1) {
        let at = PARTS * (left * height + y);
        for (let place = y * width + left; place < y * width + right; place += 1) {
          const weight = lit ? (sums[at] as number) : 0;
          const outside = Math.min(sums[at + 2] as number, style.behind.length - 1);
          if (weight === 0) pixels[place] = style.behind[outside] as number;
          else {
            const mix = ((MIXES * (sums[at + 1] as number)) / weight + 0.5) | 0;
            pixels[place] = weight < OPAQUE ? mixed(style, mix, weight, outside) : (style.opaque[mix] as number);
          }
          at += PARTS * height;
        }
      }
    }
  }
}

type Look = {
  ramp: Rgb[];
  opaque: Uint32Array; // the ramp as pixels
  below: Rgb;
  behind: Uint32Array; // as a pixel, by number of lines outside
  litAlpha: Float32Array; // by weight
  behindAlpha: Float32Array;
};

function styleOf({ shades, behind: below }: RasterColours): Look {
  const ramp = Array.from({ length: (shades.length - 1) * MIXES + 1 }, (_, at) => {
    const low = Math.min(Math.floor(at / MIXES), shades.length - 2);
    const share = at / MIXES - low;
    const [from, to] = [shades[low] as Rgb, shades[low + 1] as Rgb];
    return [0, 1, 2].map(part => (from[part] as number) * (1 - share) + (to[part] as number) * share) as Rgb;
  });
  const [litAlpha, behindAlpha] = [alphas(OPAQUE, SATURATION), alphas(64, 1)];
  const opaque = Uint32Array.from(ramp, colour => packed(colour, 1));
  return {
    ramp,
    opaque,
    below,
    behind: Uint32Array.from(behindAlpha, alpha => packed(below, alpha)),
    litAlpha,
    behindAlpha,
  };
}

/** The opacity of this many lines. */
function alphas(count: number, power: number): Float32Array {
  return Float32Array.from({ length: count }, (_, weight) => 1 - (1 - FAINT) ** (weight ** power));
}

function mixed(style: Look, mix: number, weight: number, outside: number): number {
  const alpha = style.litAlpha[weight] as number;
  const shining = (style.behindAlpha[outside] as number) * (1 - alpha);
  const all = alpha + shining;
  const [one, other] = [style.ramp[mix] as Rgb, style.below];
  const red = (one[0] * alpha + other[0] * shining) / all;
  const green = (one[1] * alpha + other[1] * shining) / all;
  const blue = (one[2] * alpha + other[2] * shining) / all;
  return (((all * 255 + 0.5) << 24) | ((blue + 0.5) << 16) | ((green + 0.5) << 8) | (red + 0.5)) >>> 0;
}

function packed([red, green, blue]: Rgb, alpha: number): number {
  return (((alpha * 255 + 0.5) << 24) | ((blue + 0.5) << 16) | ((green + 0.5) << 8) | (red + 0.5)) >>> 0;
}
