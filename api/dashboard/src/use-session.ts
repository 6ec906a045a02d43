// The current session and its permissions.
import { useQuery } from "@tanstack/react-query";
import { api, done, type Schemas } from "./api";
import { keys } from "./query-keys";

export type Session = Schemas["SessionView"];

/** The session of this browser; without one, the request leads to the login page. Refetched after the stream reconnects. */
export function useSession(): Session | undefined {
  return useQuery({ queryKey: keys.session, queryFn: () => done(api.GET("/api/v1/session")), staleTime: 60_000 }).data;
}

/** Whether the session is known to be read-only; sends no request, since the top bar has done so. */
export function useIsViewer(): boolean {
  const queryFn = () => done(api.GET("/api/v1/session"));
  return useQuery({ queryKey: keys.session, queryFn, enabled: false }).data?.role === "viewer";
}

/** Whether the user may submit, control and build; a viewer may not. */
export function useCanEdit(): boolean {
  const session = useSession();
  return session !== undefined && session.role !== "viewer";
}
