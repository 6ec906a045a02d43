// Colours of values on a canvas, from the theme's tokens: a ramp from worst to best in discrete steps.
import { token } from "../theme";

export const SHADES = 24;
const FAINTEST = 0.12; // of the ramp; a fainter line is not visible
export const HOVER_TOKEN = "--series-2"; // contrasts with every shade of the ramp, in both themes

export type Rgb = [number, number, number];

/** One colour per step, from the worst (0) to the best. */
export function shades(): string[] {
  return shadeParts().map(parts => `rgb(${parts.join(" ")})`);
}

/** The same colours as numbers from 0 to 255. */
export function shadeParts(): Rgb[] {
  const stops = [0, 1, 2, 3, 4].map(index => tokenParts(`--ramp-${index}`));
  return Array.from({ length: SHADES }, (_, step) => {
    const share = FAINTEST + (1 - FAINTEST) * (step / (SHADES - 1));
    const at = share * (stops.length - 1);
    const low = Math.min(Math.floor(at), stops.length - 2);
    const [from, to] = [stops[low] as Rgb, stops[low + 1] as Rgb];
    return from.map((part, index) => Math.round(part + ((to[index] as number) - part) * (at - low))) as Rgb;
  });
}

/** A theme token as numbers from 0 to 255. */
export function tokenParts(name: string): Rgb {
  return rgb(token(name));
}

/** The step of a share from 0 to 1. */
export function shadeOf(share: number): number {
  return Math.max(0, Math.min(SHADES - 1, Math.floor(share * SHADES)));
}

/** The shade of each share, starting at 1; 0 if unknown. */
export function shadesOf(shares: Float64Array): Uint8Array {
  return Uint8Array.from(shares, share => (Number.isNaN(share) ? 0 : shadeOf(share) + 1));
}

function rgb(colour: string): Rgb {
  const long = /^#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})$/i.exec(colour);
  if (long) return long.slice(1).map(part => Number.parseInt(part, 16)) as Rgb;
  const short = /^#([0-9a-f])([0-9a-f])([0-9a-f])$/i.exec(colour);
  if (short) return short.slice(1).map(part => Number.parseInt(part + part, 16)) as Rgb;
  return [128, 128, 128];
}
