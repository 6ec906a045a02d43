// Requests that are sent before the application runs; it takes their responses instead of sending the same requests.

const FRESH_MS = 1_800; // the event stream repeats the changes of the 3 s before it opened

type Sent = { at: number; answer: Promise<Response> };

const sent = new Map<string, Sent>();

/** Sends a GET request of the page's origin, such as "/api/v1/sweeps/1?limit=3". */
export function sendAhead(path: string): void {
  const answer = fetch(path);
  answer.catch(() => undefined); // the application sends it again, and reports the failure
  sent.set(nameOf(new URL(path, window.location.origin)), { at: performance.now(), answer });
}

/** The response to a request that was sent ahead: once, and only while it is fresh; undefined if there is none. */
export function takeAhead(request: Request): Promise<Response> | undefined {
  if (request.method !== "GET") sent.clear(); // a login changes what is answered
  if (sent.size === 0) return undefined;
  const name = nameOf(new URL(request.url));
  const found = sent.get(name);
  sent.delete(name);
  if (!found || performance.now() - found.at > FRESH_MS) return undefined;
  return found.answer.then(
    answer => (answer.ok ? answer : fetch(request)),
    () => fetch(request),
  );
}

/** The address without regard to the order of its query. */
function nameOf({ pathname, searchParams }: URL): string {
  const query = [...searchParams].map(pair => JSON.stringify(pair)).sort();
  return `${pathname}?${query.join("&")}`;
}
