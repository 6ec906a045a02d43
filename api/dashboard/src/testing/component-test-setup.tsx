// What component tests share: a session, a recorded service, and elements of a known size.
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { render } from "@testing-library/react";
import type { ReactNode } from "react";
import { vi } from "vitest";
import { keys } from "../query-keys";
import { Toasts } from "../widgets/toast";

export type Sent = { method: string; path: string; query: URLSearchParams; body: unknown };

/** The answer of the service to `METHOD /path`; a `Response` is returned as it is, anything else as JSON. */
export type Answers = Record<string, unknown | ((sent: Sent) => unknown)>;

export function showWithService(children: ReactNode, answers: Answers = {}, role = "admin"): Sent[] {
  const sent: Sent[] = [];
  const client = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  client.setQueryData(keys.session, { name: "ann", role, expires_at: null });
  vi.stubGlobal("fetch", async (request: Request) => {
    const { pathname, searchParams: query } = new URL(request.url);
    const path = pathname.replace("/api/v1", "");
    const body = request.method === "GET" ? null : await request.json().catch(() => null);
    const one = { method: request.method, path, query, body };
    sent.push(one);
    const answer = answers[`${one.method} ${path}`];
    if (answer === undefined) return Response.json({ detail: `unexpected ${one.method} ${path}` }, { status: 404 });
    const value = await (typeof answer === "function" ? answer(one) : answer);
    return value instanceof Response ? value : Response.json(value);
  });
  HTMLDialogElement.prototype.showModal ??= vi.fn();
  render(
    <QueryClientProvider client={client}>
      {children}
      <Toasts />
    </QueryClientProvider>,
  );
  return sent;
}

/** Every observed element has this size; without it happy-dom has no layout. */
export function stubSize(width: number, height = 300): void {
  vi.stubGlobal(
    "ResizeObserver",
    class {
      constructor(private readonly report: (entries: { contentRect: { width: number; height: number } }[]) => void) {}
      observe() {
        this.report([{ contentRect: { width, height } }]);
      }
      unobserve() {}
      disconnect() {}
    },
  );
}
