// Placeholder states: empty, loading, and failed with a retry button.
import type { UseQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { ApiError } from "../api";
import { Button } from "./button";
import "./states.css";

type EmptyProps = { title: string; hint?: ReactNode; children?: ReactNode; isPage?: boolean };

/** `isPage`: in place of a whole page, so that its title is the heading of the page. */
export function Empty({ title, hint, children, isPage = false }: EmptyProps) {
  const Heading = isPage ? "h1" : "h2";
  return (
    <div className="state">
      <Heading>{title}</Heading>
      {hint && <p>{hint}</p>}
      {children && <div className="state-actions">{children}</div>}
    </div>
  );
}

/** Skeleton rows; hidden for a moment, so that fast responses do not flicker. */
export function Loading({ rows = 3, what = "Loading" }: { rows?: number; what?: string }) {
  return (
    <div className="state-loading" role="status" aria-label={what}>
      {Array.from({ length: rows }, (_, row) => `row-${row}`).map(row => (
        <span key={row} className="state-bone" />
      ))}
    </div>
  );
}

type FailureProps = { error: unknown; onRetry?: () => void; isPage?: boolean };

export function Failure({ error, onRetry, isPage = false }: FailureProps) {
  const Heading = isPage ? "h1" : "h2";
  const status = error instanceof ApiError ? error.status : -1;
  const title = status === 404 ? "Not found" : status === 0 ? "No response" : "Failed to load";
  return (
    <div className="state state-failure" role="alert">
      <Heading>{title}</Heading>
      <p>{error instanceof Error ? error.message : String(error)}</p>
      {onRetry && (
        <div className="state-actions">
          <Button onClick={onRetry}>Retry</Button>
        </div>
      )}
    </div>
  );
}

/** A query's data, or its loading or error state. Existing data stays visible after an error. */
export function QueryResult<T>({
  query,
  rows,
  isPage,
  children,
}: {
  query: UseQueryResult<T>;
  rows?: number;
  isPage?: boolean;
  children: (data: T) => ReactNode;
}) {
  if (query.data !== undefined) return children(query.data);
  if (query.isError) return <Failure error={query.error} isPage={isPage} onRetry={() => void query.refetch()} />;
  return <Loading rows={rows} />;
}
