// The REST API: typed by the service's own OpenAPI document; what goes wrong is an `ApiError` with its text.
import createClient from "openapi-fetch";
import type { components, paths } from "./schema";

export type Schemas = components["schemas"];

/** A refusal of the service (problem+json), or the lack of any answer (status 0). */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly problem: Record<string, unknown> = {},
  ) {
    super(message);
  }
}

const client = createClient<paths>({ baseUrl: window.location.origin, fetch: request => fetchOrSay(request) });

/** The routes, by method: `await done(api.GET("/api/v1/sweeps/{sweep_id}", { params: { path: { sweep_id: 1 } } }))`. */
export const api = client;

type Answer<T> = { data?: T; error?: unknown; response: Response };

/** The answer's body. Throws `ApiError`; a 401 sends the page to the login. */
export async function done<T>(answer: Promise<Answer<T>>): Promise<T> {
  const { data, error, response } = await answer;
  if (response.ok) return data as T;
  throw refusal(response.status, error);
}

async function fetchOrSay(request: Request): Promise<Response> {
  try {
    return await fetch(request);
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new ApiError(0, "The service does not answer. Is `podium serve` running?");
  }
}

export function refusal(status: number, error: unknown): ApiError {
  const problem = typeof error === "object" && error !== null ? (error as Record<string, unknown>) : {};
  const said = [problem.detail, problem.title].find(text => typeof text === "string" && text !== "");
  const refused = new ApiError(status, typeof said === "string" ? said : `The service answered ${status}.`, problem);
  if (status === 401) toLogin();
  return refused;
}

/** The login page, which leads back here. */
export function toLogin(): void {
  if (window.location.pathname === "/login") return;
  const back = window.location.pathname + window.location.search;
  window.history.pushState(null, "", `/login?back=${encodeURIComponent(back)}`);
  window.dispatchEvent(new PopStateEvent("popstate"));
}
