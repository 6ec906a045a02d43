// The colours of values on a canvas, from the tokens of the theme: worst to best, in steps that are drawn together.
import { token } from "../theme";

export const SHADES = 24;
const FAINTEST = 0.12; // of the ramp: what is fainter is not seen as a line
export const POINTED_AT = "--series-2"; // beside every shade of the ramp, in both themes

/** One colour for each step from the worst (0) to the best. */
export function shades(): string[] {
  const stops = [0, 1, 2, 3, 4].map(index => rgb(token(`--ramp-${index}`)));
  return Array.from({ length: SHADES }, (_, step) => {
    const share = FAINTEST + (1 - FAINTEST) * (step / (SHADES - 1));
    const at = share * (stops.length - 1);
    const low = Math.min(Math.floor(at), stops.length - 2);
    const [from, to] = [stops[low] as number[], stops[low + 1] as number[]];
    const mixed = from.map((part, index) => Math.round(part + ((to[index] as number) - part) * (at - low)));
    return `rgb(${mixed.join(" ")})`;
  });
}

/** The step of a share from 0 to 1. */
export function shadeOf(share: number): number {
  return Math.max(0, Math.min(SHADES - 1, Math.floor(share * SHADES)));
}

function rgb(colour: string): number[] {
  const long = /^#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})$/i.exec(colour);
  if (long) return long.slice(1).map(part => Number.parseInt(part, 16));
  const short = /^#([0-9a-f])([0-9a-f])([0-9a-f])$/i.exec(colour);
  if (short) return short.slice(1).map(part => Number.parseInt(part + part, 16));
  return [128, 128, 128];
}
