// Who is logged in, and what they may do.
import { useQuery } from "@tanstack/react-query";
import { api, done, type Schemas } from "./api";
import { keys } from "./keys";

export type Session = Schemas["SessionView"];

/** The session of this browser; without one, asking leads to the login. Asked again with all else after a lost stream. */
export function useSession(): Session | undefined {
  return useQuery({ queryKey: keys.session, queryFn: () => done(api.GET("/api/v1/session")), staleTime: 60_000 }).data;
}

/** Whether it is known that who is logged in may only look; asks nothing by itself, as the bar has asked. */
export function useOnlyLooks(): boolean {
  const queryFn = () => done(api.GET("/api/v1/session"));
  return useQuery({ queryKey: keys.session, queryFn, enabled: false }).data?.role === "viewer";
}

/** Whether who is logged in may submit, steer and build; a viewer may only look. */
export function useMayChange(): boolean {
  const session = useSession();
  return session !== undefined && session.role !== "viewer";
}
