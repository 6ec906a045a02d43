// The event stream of a tab: resumes after interruptions, and closes while the tab is hidden.

export type StreamState = "connecting" | "live" | "reconnecting";
export type MessageHandler = (kind: string, data: unknown) => void;

export const KINDS = ["hello", "changes", "metrics", "log", "health", "reset"];
const FOCUS_MS = 150; // two pages in quick succession share one stream, and so do a page and its code, which loads later
const HIDDEN_MS = 5_000; // a browser has six connections per host: hidden tabs release theirs
const FIRST_RETRY_MS = 2_000;
const LAST_RETRY_MS = 30_000;

type Options = { onMessage: MessageHandler; onState: (state: StreamState) => void };

/** The browser reconnects a broken connection itself; a rejected one is retried with backoff. */
export class Stream {
  private source: EventSource | null = null;
  private query = "";
  private openQuery = "";
  private last = "";
  private retryMs = FIRST_RETRY_MS;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private closed = false;

  constructor(private readonly options: Options) {
    document.addEventListener("visibilitychange", this.onVisible);
    window.addEventListener("pagehide", this.onLeft);
    window.addEventListener("pageshow", this.onBack);
    this.later(FOCUS_MS);
  }

  /** What the page shows, as a query: "sweep=3&trial=7". */
  setQuery(query: string): void {
    if (query === this.query) return;
    this.query = query;
    this.later(FOCUS_MS);
  }

  close(): void {
    this.closed = true;
    document.removeEventListener("visibilitychange", this.onVisible);
    window.removeEventListener("pagehide", this.onLeft);
    window.removeEventListener("pageshow", this.onBack);
    clearTimeout(this.timer);
    this.source?.close();
  }

  private readonly onVisible = () => {
    if (document.visibilityState === "hidden") {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.drop(), HIDDEN_MS);
    } else {
      clearTimeout(this.timer);
      this.open();
    }
  };

  /** A page may be kept in the back/forward cache, where timers stop and its connection would stay open. */
  private readonly onLeft = () => {
    clearTimeout(this.timer);
    this.drop();
  };

  private readonly onBack = (event: PageTransitionEvent) => {
    if (event.persisted) this.later(0);
  };

  private drop(): void {
    this.source?.close();
    this.source = null;
  }

  private later(ms: number): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.open(), ms);
  }

  private open(): void {
    if (this.closed || (this.source && this.openQuery === this.query)) return;
    this.drop();
    this.openQuery = this.query;
    const query = [this.query, this.last && `after=${this.last}`].filter(Boolean).join("&");
    const source = new EventSource(`/api/v1/events${query && `?${query}`}`);
    this.source = source;
    source.onopen = () => {
      this.retryMs = FIRST_RETRY_MS;
      this.options.onState("live");
    };
    source.onerror = () => {
      this.options.onState("reconnecting");
      if (source.readyState !== 2) return; // the browser reconnects
      this.drop();
      this.later(this.retryMs);
      this.retryMs = Math.min(2 * this.retryMs, LAST_RETRY_MS);
    };
    for (const kind of KINDS)
      source.addEventListener(kind, event => this.onMessage(kind, event as MessageEvent<string>));
  }

  private onMessage(kind: string, event: MessageEvent<string>): void {
    if (event.lastEventId) this.last = event.lastEventId;
    this.options.onMessage(kind, JSON.parse(event.data || "{}"));
  }
}
