// Expected results between the trials of two parameters: a kernel average (Nadaraya, Watson 1964). Pure.
import type { Places } from "./draw-points";

export const [COLUMNS, ROWS] = [64, 44];
export const MIN_TRIALS = 20; // trials; with fewer, the surface is noise
const FAR = 0.05; // minimum weight; cells without a trial nearby stay blank

/** Expected shares by cell, row by row from the bottom; NaN where no trial is near. Positions and shares are from 0 to 1. */
export function surface({ xs, ys, rows }: Places, shares: Float64Array): Float64Array {
  // Trials of one cell are weighted together, and the kernel is separable (column weight times row weight),
  // so the cost does not depend on the number of trials.
  const [count, sum, near] = [0, 1, 2].map(() => new Float64Array(COLUMNS * ROWS)) as [Grid, Grid, Grid];
  for (const row of rows) {
    const cell = cellOf(ys[row] as number, ROWS) * COLUMNS + cellOf(xs[row] as number, COLUMNS);
    count[cell] = (count[cell] as number) + 1;
    sum[cell] = (sum[cell] as number) + (shares[row] as number);
    near[cell] = 1;
  }
  const width = bandwidth(rows.length);
  const [total, smoothed] = [spread(count, width, add), spread(sum, width, add)];
  const nearest = spread(near, width, Math.max);
  return total.map((weight, cell) =>
    (nearest[cell] as number) > FAR ? (smoothed[cell] as number) / weight : Number.NaN,
  );
}

type Grid = Float64Array;

function cellOf(place: number, cells: number): number {
  return Math.max(0, Math.min(cells - 1, Math.floor(place * cells)));
}

function add(one: number, other: number): number {
  return one + other;
}

/** Smooths each cell over all others: first along the rows, then along the columns. */
function spread(grid: Grid, width: number, join: (one: number, other: number) => number): Grid {
  const along = pass(grid, COLUMNS, ROWS, 1, COLUMNS, width, join);
  return pass(along, ROWS, COLUMNS, COLUMNS, 1, width, join);
}

function pass(
  grid: Grid,
  cells: number,
  lanes: number,
  step: number,
  lane: number,
  width: number,
  join: (one: number, other: number) => number,
): Grid {
  const weights = Float64Array.from({ length: cells }, (_, off) =>
    Math.exp(-((off / cells) ** 2) / (2 * width * width)),
  );
  const spreadOut = new Float64Array(grid.length);
  for (let from = 0; from < lanes * lane; from += lane)
    for (let to = 0; to < cells; to += 1) {
      let joined = 0;
      for (let cell = 0; cell < cells; cell += 1) {
        const value = grid[from + cell * step] as number;
        if (value !== 0) joined = join(joined, value * (weights[Math.abs(cell - to)] as number));
      }
      spreadOut[from + to * step] = joined;
    }
  return spreadOut;
}

/** Wider for few trials, narrower for many. */
function bandwidth(count: number): number {
  return Math.max(0.05, Math.min(0.16, 0.3 * count ** (-1 / 6)));
}
