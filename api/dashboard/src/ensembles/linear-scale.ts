// Linear scales between values and pixels, and round tick values.

export type Scale = {
  range: readonly [number, number];
  to: (value: number) => number;
  back: (pixel: number) => number;
};

/** A linear scale; an empty range is widened, so that a single value is centred. */
export function scale(range: readonly [number, number], from: number, to: number): Scale {
  const [low, high] = range[0] === range[1] ? [range[0] - 0.5, range[1] + 0.5] : range;
  const share = (to - from) / (high - low);
  return {
    range: [low, high],
    to: value => from + (value - low) * share,
    back: pixel => low + (pixel - from) / share,
  };
}

/** About `about` round numbers within a range. */
export function ticks([low, high]: readonly [number, number], about: number, integer = false): number[] {
  const rough = (high - low) / Math.max(1, about);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map(factor => factor * power).find(size => size >= rough * 0.999) ?? power * 10;
  const used = integer ? Math.max(1, Math.round(step)) : step;
  const found: number[] = [];
  for (let index = Math.ceil(low / used - 1e-9); index * used <= high + used * 1e-9; index += 1) {
    found.push(Number((index * used).toPrecision(12)));
  }
  return found;
}

/** The nearest of ascending values. */
export function nearest(values: readonly number[], target: number): number | null {
  let best: number | null = null;
  for (const value of values) if (best === null || Math.abs(value - target) < Math.abs(best - target)) best = value;
  return best;
}
