// The requests for windows of the trial table. Pure.

export const BEST_FIRST = "best"; // the order of a table without another one

const WINDOW = 100; // rows of a request
const [MANY_FIGURES, SMALL_WINDOW] = [50, 25]; // with many columns, a request has fewer rows

/** What the table shows; figures of metrics are extra columns. */
export type View = { filter: string; sort: string; figures?: readonly string[] };

export type TableQuery = {
  filter?: string;
  sort: string;
  offset?: number;
  limit?: number;
  find?: number;
  metrics?: string[]; // figures
};

/** The number of rows in a window. */
export function windowSize({ figures = [] }: View): number {
  return figures.length > MANY_FIGURES ? SMALL_WINDOW : WINDOW;
}

/** The query for a window of the table, counted from 0. */
export function windowQuery(view: View, window: number): TableQuery {
  const { filter, sort, figures = [] } = view;
  const size = windowSize(view);
  return { filter: filter || undefined, sort, offset: window * size, limit: size, metrics: [...figures] };
}
