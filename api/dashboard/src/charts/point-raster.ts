// Rasterizes hundreds of points or more: filling that many circles on a canvas is too slow while brushing. Pure.
import type { Rgb } from "./colour";

/** `line`: the width of a ring or cross, in pixels. */
export type Stamp = { radius: number; alpha: number } & ({ shape: "disk" } | { shape: "ring" | "cross"; line: number });
type Dab = { offsets: Int32Array; opacities: Uint16Array; reach: number }; // opacities from 0 to 256

/** An image of `width` by `height` pixels; later points are drawn on top. */
export class PointRaster {
  private readonly pixels: Uint32Array;
  private readonly dabs: Map<Stamp, Dab> = new Map();

  constructor(
    pixels: ArrayBufferLike,
    readonly width: number,
    readonly height: number,
  ) {
    this.pixels = new Uint32Array(pixels);
  }

  /** One point centred on this pixel, clipped at the edges of the image. */
  draw(x: number, y: number, colour: number, stamp: Stamp): void {
    const { width, height, pixels } = this;
    const [column, row] = [Math.round(x), Math.round(y)];
    const { offsets, opacities, reach } = this.dab(stamp);
    const isWhole = column >= reach && row >= reach && column < width - reach && row < height - reach;
    const middle = row * width + column;
    for (let dot = 0; dot < offsets.length; dot += 1) {
      const offset = offsets[dot] as number;
      if (!isWhole && !this.isIn(column, row, offset)) continue;
      const before = (pixels[middle + offset] as number) >>> 24;
      const after = before + (((255 - before) * (opacities[dot] as number) + 128) >> 8);
      pixels[middle + offset] = (after << 24) | colour;
    }
  }

  private isIn(column: number, row: number, offset: number): boolean {
    const down = Math.round(offset / this.width);
    const x = column + offset - down * this.width;
    return x >= 0 && x < this.width && row + down >= 0 && row + down < this.height;
  }

  private dab(stamp: Stamp): Dab {
    const known = this.dabs.get(stamp);
    if (known) return known;
    const reach = Math.ceil(stamp.radius + 1);
    const [offsets, opacities]: [number[], number[]] = [[], []];
    for (let y = -reach; y <= reach; y += 1)
      for (let x = -reach; x <= reach; x += 1) {
        const covered = coverage(stamp, x, y);
        if (covered === 0) continue;
        offsets.push(y * this.width + x);
        opacities.push(Math.round(256 * covered * stamp.alpha));
      }
    const dab = { offsets: Int32Array.from(offsets), opacities: Uint16Array.from(opacities), reach };
    this.dabs.set(stamp, dab);
    return dab;
  }
}

/** How much of a pixel at this offset from the middle is covered, from 0 to 1. */
function coverage(stamp: Stamp, x: number, y: number): number {
  const off = Math.hypot(x, y) - stamp.radius;
  if (stamp.shape === "disk") return share(0.5 - off);
  const reach = stamp.line / 2 + 0.5;
  if (stamp.shape === "ring") return share(reach - Math.abs(off));
  const beside = Math.min(Math.abs(x - y), Math.abs(x + y)) / Math.SQRT2; // from the nearer diagonal
  return share(reach - beside) * share(stamp.radius + 1 - Math.max(Math.abs(x), Math.abs(y)));
}

function share(value: number): number {
  return Math.max(0, Math.min(1, value));
}

/** A colour in pixel format, without opacity. */
export function packed([red, green, blue]: Rgb): number {
  return (blue << 16) | (green << 8) | red;
}
