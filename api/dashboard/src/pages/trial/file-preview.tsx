// The preview of a file of a trial: an image, a table or text. The service decides by the content what it is.
import { useQuery } from "@tanstack/react-query";
import { api, done } from "../../api";
import { keys } from "../../query-keys";
import { QueryResult } from "../../widgets/query-states";
import { ScrollX } from "../../widgets/scroll-x";
import "./file-preview.css";

type Props = { trialId: number; name: string; version: string };

export function Preview({ trialId, name, version }: Props) {
  const query = useQuery({
    queryKey: keys.trial(trialId, "preview", name, version),
    queryFn: ({ signal }) =>
      done(
        api.GET("/api/v1/trials/{trial_id}/preview", {
          params: { path: { trial_id: trialId }, query: { name } },
          signal,
        }),
      ),
    staleTime: Number.POSITIVE_INFINITY, // the version changes with the content
    placeholderData: undefined,
  });
  return (
    <section className="preview" aria-label={`Preview of ${name}`}>
      <QueryResult query={query} rows={3}>
        {({ kind, text, rows, note }) => (
          <>
            {kind === "image" && (
              <a href={imageHref(trialId, name, version)} target="_blank" rel="noreferrer">
                <img className="preview-image" src={imageHref(trialId, name, version)} alt={name} />
              </a>
            )}
            {kind === "table" && rows && <Table rows={rows} name={name} />}
            {kind === "text" && (
              // biome-ignore lint/a11y/noNoninteractiveTabindex: long text scrolls, also by keyboard
              <pre className="preview-text" tabIndex={0}>
                {text}
              </pre>
            )}
            {kind === "none" && <p className="trial-dim">No preview: {note}.</p>}
            {kind !== "none" && note && (
              <p className="trial-dim">{`Shown: ${note}. The download has the whole file.`}</p>
            )}
          </>
        )}
      </QueryResult>
    </section>
  );
}

/** The address of an image; the version keeps a replaced one out of the cache. */
export function imageHref(trialId: number, name: string, version: string): string {
  return `/api/v1/trials/${trialId}/image?${new URLSearchParams({ name, v: version.slice(0, 12) })}`;
}

function Table({ rows, name }: { rows: string[][]; name: string }) {
  const [head = [], ...body] = rows;
  const places = head.map((_, at) => at);
  return (
    <ScrollX label={`Table ${name}`}>
      <table className="preview-table">
        <thead>
          <tr>
            {places.map(at => (
              <th key={at} scope="col">
                {head[at]}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {body.map((row, line) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: rows of a file have no other key
            <tr key={line}>
              {row.map((cell, at) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: neither have its columns
                <td key={at}>{cell}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollX>
  );
}
