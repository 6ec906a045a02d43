// The REST client, typed from the service's OpenAPI document. Failures are thrown as `ApiError` with the service's message.
import createClient from "openapi-fetch";
import type { components, paths } from "./schema";
import { takeAhead } from "./start/early-requests";

export type Schemas = components["schemas"];

/** An error response of the service (problem+json), or no response at all (status 0). */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly problem: Record<string, unknown> = {},
  ) {
    super(message);
  }
}

const client = createClient<paths>({ baseUrl: window.location.origin, fetch: request => fetchOrThrow(request) });

/** The routes, by method: `await done(api.GET("/api/v1/sweeps/{sweep_id}", { params: { path: { sweep_id: 1 } } }))`. */
export const api = client;

type Answer<T> = { data?: T; error?: unknown; response: Response };

/** Returns the body of the response. Throws `ApiError`; a 401 redirects to the login page. */
export async function done<T>(answer: Promise<Answer<T>>): Promise<T> {
  const { data, error, response } = await answer;
  if (response.ok) return data as T;
  throw errorFrom(response.status, error);
}

async function fetchOrThrow(request: Request): Promise<Response> {
  try {
    return await (takeAhead(request) ?? fetch(request));
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new ApiError(0, "The service is not responding. Is `podium serve` running?");
  }
}

export function errorFrom(status: number, error: unknown): ApiError {
  const problem = typeof error === "object" && error !== null ? (error as Record<string, unknown>) : {};
  const message = [problem.detail, problem.title].find(text => typeof text === "string" && text !== "");
  const failure = new ApiError(
    status,
    typeof message === "string" ? message : `The service responded with status ${status}.`,
    problem,
  );
  if (status === 401) toLogin();
  return failure;
}

/** Opens the login page, which returns to the current page afterwards. */
export function toLogin(): void {
  if (window.location.pathname === "/login") return;
  const back = window.location.pathname + window.location.search;
  window.history.pushState(null, "", `/login?back=${encodeURIComponent(back)}`);
  window.dispatchEvent(new PopStateEvent("popstate"));
}
