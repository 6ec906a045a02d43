// What changed is fetched again, but not more often than it can be shown: once a second, and never over itself.
import type { QueryClient } from "@tanstack/react-query";

const PACE_MS = 1_000;
const PATIENCE_MS = 10_000; // for an answer that is on its way

/** Collects keys that are out of date, and has the queries below them fetched. */
export class Stale {
  private readonly waiting = new Map<string, { key: readonly unknown[]; since: number }>();
  private timer: ReturnType<typeof setTimeout> | undefined;
  private flushed = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly queries: QueryClient,
    private readonly now: () => number = () => performance.now(),
  ) {}

  add(keys: Iterable<readonly unknown[]>): void {
    for (const key of keys) {
      const name = JSON.stringify(key);
      if (!this.waiting.has(name)) this.waiting.set(name, { key, since: this.now() });
    }
    if (this.waiting.size > 0 && this.timer === undefined) {
      this.timer = setTimeout(() => this.flush(), Math.max(0, this.flushed + PACE_MS - this.now()));
    }
  }

  close(): void {
    clearTimeout(this.timer);
    this.waiting.clear();
  }

  /** An answer on its way may be from before the change: its key waits for it, and is fetched once more then. */
  private flush(): void {
    this.timer = undefined;
    this.flushed = this.now();
    for (const [name, { key, since }] of [...this.waiting]) {
      if (this.queries.isFetching({ queryKey: key }) > 0 && this.flushed - since < PATIENCE_MS) continue;
      this.waiting.delete(name);
      void this.queries.invalidateQueries({ queryKey: key }, { cancelRefetch: false });
    }
    this.add([]);
  }
}
