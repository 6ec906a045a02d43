// Refetches changed data, at most once a second and never while the previous response is pending.
import type { QueryClient } from "@tanstack/react-query";

const PACE_MS = 1_000;
const PATIENCE_MS = 10_000; // while a response is pending

/** Collects stale query keys and invalidates the queries below them. */
export class InvalidationQueue {
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

  /** A pending response may predate the change: its key waits for it and is then fetched once more. */
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
