// The ensemble builder: choose members, preview the result, build.
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { ApiError, api, done, type Schemas } from "../api";
import { useFreshness } from "../charts/queries";
import { formatCount, formatNumber } from "../format";
import { keys } from "../query-keys";
import { useSelection } from "../selection";
import { nameOf, type TrialName, trialHref, useNamedTrials } from "../trials/trial-references";
import { fetchTable } from "../trials/use-table-windows";
import { useQueryState } from "../url-query-state";
import { Panel } from "../widgets/panel";
import { Empty, Failure, Loading } from "../widgets/query-states";
import { Candidates } from "./candidates";
import { type Request, read, useDraft } from "./draft";
import { DraftForm } from "./draft-form";
import type { Preview } from "./ensemble-types-and-labels";
import { ReportGrid, ReportSummary, rowsText } from "./score-report";
import { PathChart } from "./selection-path";
import { Build, BuildVersion } from "./submit-draft";
import "./builder.css";

const MAX_LISTED = 200;

type BuilderProps = { sweepId: number; metric: string };

/** Cached apart from the rest of the sweep, which is refetched every second while it runs: a preview is expensive. */
function usePreview(sweepId: number, request: Request | null) {
  return useQuery({
    queryKey: keys.charts(sweepId, "preview", request),
    queryFn: ({ signal }) =>
      done(api.POST("/api/v1/ensembles/preview", { body: request as Schemas["EnsembleRequest"], signal })),
    enabled: request !== null,
    staleTime: 30_000,
    retry: false,
  });
}

/** The trials that match the sweep's filter, best first; null without a filter. */
function useMatching(sweepId: number): ReadonlySet<unknown> | null {
  const [filter] = useQueryState("filter");
  const { data } = useQuery({
    queryKey: keys.sweep(sweepId, "candidates", filter),
    queryFn: ({ signal }) => fetchTable(sweepId, { filter, sort: "best", limit: MAX_LISTED }, signal),
    enabled: filter !== "",
    retry: false,
  });
  return filter === "" || !data ? null : new Set(data.columns.id);
}

export function Builder({ sweepId, metric }: BuilderProps) {
  const [draft, change] = useDraft();
  const [versionOf] = useQueryState("version_of");
  useFreshness(sweepId, "preview");
  const pool = usePreview(sweepId, { sweep_id: sweepId, select: "top_k", k: 1 });
  const known = useMemo(() => pool.data?.contenders.map(one => ({ ...one, id: one.trial_id })), [pool.data]);
  const named = useNamedTrials("trials", known);
  const ids = named.isLoading ? null : named.trials.map(trial => trial.id);
  const { request, problems } = read(draft, sweepId, ids);
  const query = usePreview(sweepId, request);
  const matching = useMatching(sweepId);
  const selected = [...useSelection(sweepId).selected];
  const preview = request === null || query.isError ? undefined : query.data;
  const weights = new Map(preview?.member_ids.map((id, position) => [id, preview.weights[position] ?? 0]));
  const toggle = (trialId: number) => {
    const members = draft.choose === "explicit" ? (ids ?? []) : [...weights.keys()];
    const after = members.includes(trialId) ? members.filter(id => id !== trialId) : [...members, trialId];
    change({ choose: "explicit", trials: after.map(id => namedOr(id, [...(known ?? []), ...named.trials])).join(",") });
  };
  if (pool.isError)
    return <PreviewError title="Nothing to build from yet" error={pool.error} onRetry={() => void pool.refetch()} />;
  if (!pool.data) return <Loading rows={5} />;
  const ticked = draft.choose === "explicit" ? new Map((ids ?? []).map(id => [id, weights.get(id) ?? 0])) : weights;
  return (
    <div className="builder">
      <div className="builder-form">
        <Panel title={versionOf ? "Build a new version" : "Build an ensemble"}>
          <DraftForm
            draft={draft}
            change={change}
            problems={problems}
            selected={selected}
            ids={ids}
            values={pool.data.task === "regression"}
          />
          {versionOf ? (
            <BuildVersion request={preview ? request : null} ensembleId={Number(versionOf)} />
          ) : (
            <Build request={preview ? request : null} />
          )}
        </Panel>
      </div>
      <div className="builder-preview" aria-busy={query.isFetching}>
        <Panel title="Candidates" hint={candidatesText(pool.data, matching !== null)}>
          <Candidates
            pool={pool.data.contenders.filter(one => matching === null || matching.has(one.trial_id))}
            metric={metric}
            weights={ticked}
            onToggle={toggle}
          />
        </Panel>
        {query.isError && request !== null ? (
          <PreviewError error={query.error} onRetry={() => void query.refetch()} />
        ) : (
          request !== null && <PreviewOrLoading preview={preview} method={draft.choose} sweepId={sweepId} />
        )}
      </div>
    </div>
  );
}

/** The name of a trial; its id if it is not among these. */
function namedOr(id: number, trials: readonly TrialName[]): string {
  const found = trials.find(trial => trial.id === id);
  return found ? nameOf(found) : String(id);
}

function candidatesText(pool: Preview, filtered: boolean): string {
  const shown = pool.contenders.length;
  const best = pool.candidates > shown ? `; only the best ${shown} are listed` : "";
  const filterNote = filtered ? " The filter affects only this list, not which trials may be selected." : "";
  return `${formatCount(pool.candidates)} finished trials have a model${best}. Check trials to select them manually.${filterNote}`;
}

type PreviewErrorProps = { title?: string; error: Error; onRetry: () => void };

/** Having too few finished models is not an error of the user. */
function PreviewError({ title = "Cannot build this ensemble", error, onRetry }: PreviewErrorProps) {
  const isValidation = error instanceof ApiError && error.status === 422;
  return (
    <Panel>
      {isValidation ? <Empty title={title} hint={`${error.message}.`} /> : <Failure error={error} onRetry={onRetry} />}
    </Panel>
  );
}

function PreviewOrLoading({ preview, ...rest }: { preview: Preview | undefined; method: string; sweepId: number }) {
  if (preview) return <PreviewPanels preview={preview} {...rest} />;
  return (
    <Panel>
      <Loading rows={6} what="Computing the preview" />
    </Panel>
  );
}

function PreviewPanels({ preview, method, sweepId }: { preview: Preview; method: string; sweepId: number }) {
  const numbers = new Map(preview.contenders.map(one => [one.trial_id, one]));
  const members = preview.member_ids.map(id => {
    const of = numbers.get(id);
    const otherSweep = of && of.sweep_id !== sweepId ? ` of sweep ${of.sweep_id}` : "";
    return of
      ? { name: `Trial ${of.number}${otherSweep}`, href: trialHref(of.sweep_id, of.number) }
      : { name: `Trial id ${id}`, href: `/trials/${id}` };
  });
  const { figures } = preview;
  return (
    <>
      <Panel
        title={`${members.length} ${members.length === 1 ? "member" : "members"}, quorum ${preview.quorum}`}
        hint={
          figures
            ? `Estimated from stored predictions on ${rowsText(figures.rows, figures.split, preview.rows_there)}; the test split is not used.`
            : undefined
        }
      >
        {preview.note && <p className="builder-note">{preview.note}.</p>}
        {preview.temperature !== 1 && <p className="builder-note">Temperature {formatNumber(preview.temperature)}.</p>}
        {!figures && <Empty title="No estimate available" hint={`${preview.unknown}. Evaluate it once it is ready.`} />}
        {preview.path.length > 1 && (
          <>
            <h3 className="builder-head">
              {method === "greedy" ? "Greedy selection path" : "Score by number of members"}
            </h3>
            <PathChart steps={preview.path} task={preview.task} method={method} />
          </>
        )}
      </Panel>
      {figures && (
        <>
          <Panel title="Compared with the best single network">
            <ReportSummary figures={figures} members={members} />
          </Panel>
          <ReportGrid figures={figures} members={members} />
        </>
      )}
    </>
  );
}
