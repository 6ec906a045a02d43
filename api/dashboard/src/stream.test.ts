// The stream: reconnects, refused connections, and hidden tabs.
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Stream, type StreamState } from "./stream";

class FakeSource {
  static opened: FakeSource[] = [];
  readyState = 0;
  onopen: (() => void) | null = null;
  onerror: (() => void) | null = null;
  private readonly heard = new Map<string, (event: { data: string; lastEventId: string }) => void>();

  constructor(readonly url: string) {
    FakeSource.opened.push(this);
  }

  addEventListener(kind: string, hear: (event: { data: string; lastEventId: string }) => void) {
    this.heard.set(kind, hear);
  }

  say(kind: string, data: unknown, id = "") {
    this.heard.get(kind)?.({ data: JSON.stringify(data), lastEventId: id });
  }

  fail(readyState: number) {
    this.readyState = readyState;
    this.onerror?.();
  }

  close() {
    this.readyState = 2;
  }
}

let heard: [string, unknown][] = [];
let states: StreamState[] = [];
let stream: Stream;

const latest = () => FakeSource.opened.at(-1) as FakeSource;
const urls = () => FakeSource.opened.map(source => source.url);

function visible(state: "hidden" | "visible") {
  Object.defineProperty(document, "visibilityState", { value: state, configurable: true });
  document.dispatchEvent(new Event("visibilitychange"));
}

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal("EventSource", FakeSource);
  FakeSource.opened = [];
  heard = [];
  states = [];
  stream = new Stream({ onMessage: (kind, data) => heard.push([kind, data]), onState: state => states.push(state) });
});

afterEach(() => {
  stream.close();
  visible("visible");
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

test("the first connection includes the current view", () => {
  vi.advanceTimersByTime(100); // the code of the page loads
  stream.setQuery("sweep=3");
  vi.advanceTimersByTime(200);
  expect(urls()).toEqual(["/api/v1/events?sweep=3"]);
});

test("a change of view continues after the last event", () => {
  vi.advanceTimersByTime(150);
  latest().onopen?.();
  latest().say("hello", {}, "41");
  latest().say("changes", { sweeps: [1] }, "42");
  latest().say("log", { trial_id: 1 });
  stream.setQuery("");
  stream.setQuery("trial=7");
  vi.advanceTimersByTime(200);
  expect(urls()).toEqual(["/api/v1/events", "/api/v1/events?trial=7&after=42"]);
  expect(FakeSource.opened[0]?.readyState).toBe(2);
  expect(heard.map(([kind]) => kind)).toEqual(["hello", "changes", "log"]);
  expect(states).toEqual(["live"]);
});

test("returning to the same view opens no new stream", () => {
  stream.setQuery("sweep=3");
  vi.advanceTimersByTime(200);
  stream.setQuery("");
  stream.setQuery("sweep=3");
  vi.advanceTimersByTime(1_000);
  expect(urls()).toHaveLength(1);
});

test("a broken connection is left to the browser, a refused one is retried with backoff", () => {
  vi.advanceTimersByTime(150);
  latest().fail(0);
  vi.advanceTimersByTime(60_000);
  expect(urls()).toHaveLength(1);
  latest().fail(2);
  vi.advanceTimersByTime(2_000);
  expect(urls()).toHaveLength(2);
  latest().fail(2);
  vi.advanceTimersByTime(2_000);
  expect(urls()).toHaveLength(2);
  vi.advanceTimersByTime(2_000);
  expect(urls()).toHaveLength(3);
  latest().onopen?.();
  expect(states).toEqual(["reconnecting", "reconnecting", "reconnecting", "live"]);
});

test("a hidden tab closes its stream and continues it when visible again", () => {
  vi.advanceTimersByTime(150);
  latest().say("hello", {}, "9");
  visible("hidden");
  vi.advanceTimersByTime(4_000);
  visible("visible");
  expect(latest().readyState).toBe(0);
  visible("hidden");
  vi.advanceTimersByTime(6_000);
  expect(latest().readyState).toBe(2);
  visible("visible");
  expect(urls()).toEqual(["/api/v1/events", "/api/v1/events?after=9"]);
});

test("a page in the back/forward cache holds no connection", () => {
  vi.advanceTimersByTime(150);
  latest().say("hello", {}, "9");
  window.dispatchEvent(new Event("pagehide"));
  expect(latest().readyState).toBe(2);
  window.dispatchEvent(Object.assign(new Event("pageshow"), { persisted: true }));
  vi.advanceTimersByTime(0);
  expect(urls()).toEqual(["/api/v1/events", "/api/v1/events?after=9"]);
});
