// What results to expect between the trials of two parameters: a kernel average (Nadaraya, Watson 1964). Pure.

export const [COLUMNS, ROWS] = [64, 44];
const MOST = 1_200; // trials looked at
const FAR = 0.05; // of a weight: where no trial is near enough, nothing is drawn

/** Expected shares by cell, row by row from below; NaN where no trial is near. Places and shares are from 0 to 1. */
export function surface(xs: readonly number[], ys: readonly number[], shares: readonly number[]): Float64Array {
  const every = Math.max(1, Math.ceil(xs.length / MOST));
  const some = (values: readonly number[]) => values.filter((_, at) => at % every === 0);
  const width = bandwidth(xs.length);
  // The weight of a trial in a cell is that of its column times that of its row: few exponentials for many cells.
  const across = weights(some(xs), COLUMNS, width);
  const up = weights(some(ys), ROWS, width);
  const sample = some(shares);
  const cells = new Float64Array(COLUMNS * ROWS).fill(Number.NaN);
  for (let cell = 0; cell < cells.length; cell += 1) {
    const xWeights = across[cell % COLUMNS] as Float64Array;
    const yWeights = up[Math.floor(cell / COLUMNS)] as Float64Array;
    let [sum, total, most] = [0, 0, 0];
    for (let at = 0; at < sample.length; at += 1) {
      const weight = (xWeights[at] as number) * (yWeights[at] as number);
      sum += weight * (sample[at] as number);
      total += weight;
      if (weight > most) most = weight;
    }
    if (most > FAR) cells[cell] = sum / total;
  }
  return cells;
}

/** How much each place weighs in the middle of each of so many cells. */
function weights(places: readonly number[], cells: number, width: number): Float64Array[] {
  return Array.from({ length: cells }, (_, cell) =>
    Float64Array.from(places, place => Math.exp(-((place - (cell + 0.5) / cells) ** 2) / (2 * width * width))),
  );
}

/** Wider for few trials, narrower for many. */
function bandwidth(count: number): number {
  return Math.max(0.05, Math.min(0.16, 0.3 * count ** (-1 / 6)));
}
