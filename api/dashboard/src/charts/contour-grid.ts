// What results to expect between the trials of two parameters: a kernel average (Nadaraya, Watson 1964). Pure.

export const [COLUMNS, ROWS] = [64, 44];
const MOST = 1_200; // trials looked at
const FAR = 0.05; // of a weight: where no trial is near enough, nothing is drawn

/** Expected shares by cell, row by row from below; NaN where no trial is near. Places and shares are from 0 to 1. */
export function surface(xs: readonly number[], ys: readonly number[], shares: readonly number[]): Float64Array {
  const cells = new Float64Array(COLUMNS * ROWS).fill(Number.NaN);
  const every = Math.max(1, Math.ceil(xs.length / MOST));
  const width = bandwidth(xs.length);
  for (let cell = 0; cell < cells.length; cell += 1) {
    const [x, y] = [((cell % COLUMNS) + 0.5) / COLUMNS, (Math.floor(cell / COLUMNS) + 0.5) / ROWS];
    let [sum, total, most] = [0, 0, 0];
    for (let at = 0; at < xs.length; at += every) {
      const [dx, dy] = [(xs[at] as number) - x, (ys[at] as number) - y];
      const weight = Math.exp(-(dx * dx + dy * dy) / (2 * width * width));
      sum += weight * (shares[at] as number);
      total += weight;
      if (weight > most) most = weight;
    }
    if (most > FAR) cells[cell] = sum / total;
  }
  return cells;
}

/** Wider for few trials, narrower for many. */
function bandwidth(count: number): number {
  return Math.max(0.05, Math.min(0.16, 0.3 * count ** (-1 / 6)));
}
