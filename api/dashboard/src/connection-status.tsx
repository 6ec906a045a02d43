// Whether the service answers. While it does not, the page shows when its data were current, and commands are disabled.
import { type QueryClient, useQueryClient } from "@tanstack/react-query";
import { createContext, type ReactNode, useContext, useEffect, useRef, useState } from "react";
import { ApiError } from "./api";
import { formatAgo, formatTime } from "./format";
import { keys } from "./query-keys";
import type { StreamState } from "./stream";
import { useNow } from "./use-now";
import "./connection-status.css";

export const NOT_RESPONDING = "The service is not responding";

/** `currentAt`: the time of the last response, in ms; null while the service answers. */
export type Connection = { lost: boolean; currentAt: number | null };

const ANSWERING: Connection = { lost: false, currentAt: null };
const NO_ANSWER = new Set([0, 502, 503, 504]); // nobody, or a proxy in front of nobody
const ConnectionContext = createContext<Connection>(ANSWERING);

export function useConnection(): Connection {
  return useContext(ConnectionContext);
}

/** Without a stream, every request shows whether the service answers; the one for the session is sent at once. */
export function ConnectionProvider({ stream, children }: { stream: StreamState; children: ReactNode }) {
  const queries = useQueryClient();
  const [connection, setConnection] = useState<Connection>(ANSWERING);
  const answeredAt = useRef(Date.now());

  useEffect(() => {
    if (stream !== "reconnecting") return;
    const onAnswer = () => {
      answeredAt.current = Date.now();
      setConnection(ANSWERING);
    };
    const stop = watchRequests(queries, onAnswer, () =>
      setConnection(before => (before.lost ? before : { lost: true, currentAt: answeredAt.current })),
    );
    void queries.refetchQueries({ queryKey: keys.session });
    return () => {
      stop();
      onAnswer();
    };
  }, [stream, queries]);

  // An open stream is an answer as well: until it broke, the data were current.
  useEffect(() => {
    if (stream !== "live") return;
    return () => {
      answeredAt.current = Date.now();
    };
  }, [stream]);

  return <ConnectionContext.Provider value={connection}>{children}</ConnectionContext.Provider>;
}

function watchRequests(queries: QueryClient, onAnswer: () => void, onNoAnswer: () => void): () => void {
  return queries.getQueryCache().subscribe(event => {
    if (event.type !== "updated") return;
    if (event.action.type === "success" && !event.action.manual) onAnswer();
    if (event.action.type !== "failed" && event.action.type !== "error") return;
    const error = event.action.error as unknown;
    if (error instanceof ApiError && NO_ANSWER.has(error.status)) onNoAnswer();
    else if (error instanceof ApiError) onAnswer();
  });
}

/** Across the window, below the top bar, while the service does not answer. */
export function ConnectionBanner() {
  const { lost, currentAt } = useConnection();
  const now = useNow(lost);
  if (!lost || currentAt === null) return null;
  const time = new Date(currentAt).toISOString();
  return (
    <div className="connection-banner" role="alert">
      <strong>{NOT_RESPONDING}.</strong> This page shows the state of {formatTime(time)}{" "}
      <span aria-hidden="true">({formatAgo(time, now)})</span>. Actions are disabled; the page updates when the service
      responds again.
    </div>
  );
}
