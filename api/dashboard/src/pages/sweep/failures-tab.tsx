// The failed trials of a sweep, grouped by message: how often, where, on which devices, and what to do about them.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "wouter";
import { api, done, type Schemas } from "../../api";
import { formatCount, formatNumber, formatValue } from "../../format";
import { keys } from "../../query-keys";
import { restartWarning } from "../../sweep/sweep";
import { useSweep } from "../../sweep/use-sweep";
import { forEach, outcomeText } from "../../trials/bulk-requests";
import { textOf } from "../../trials/filter-terms";
import { trialHref } from "../../trials/trial-references";
import { setQuery, useQueryState, withQuery } from "../../url-query-state";
import { useCanEdit } from "../../use-session";
import { Button, ButtonLink } from "../../widgets/button";
import { Confirm } from "../../widgets/dialog";
import { Panel } from "../../widgets/panel";
import { Empty, QueryResult } from "../../widgets/query-states";
import { toast } from "../../widgets/toast";
import { causeLabel } from "../trial/attempts";
import "./failures-tab.css";

type Group = Schemas["FailureGroupView"];
type Retried = { ids: readonly number[]; of: number };

const MOST_DEVICES = 6;
const MOST_PARAMETERS = 8;

export function FailuresTab({ sweepId }: { sweepId: number }) {
  const [filter] = useQueryState("filter");
  const failures = useQuery({
    queryKey: keys.sweep(sweepId, "failures", filter),
    queryFn: ({ signal }) =>
      done(
        api.GET("/api/v1/sweeps/{sweep_id}/failures", {
          params: { path: { sweep_id: sweepId }, query: { filter: filter || undefined } },
          signal,
        }),
      ),
  });
  const [retried, setRetried] = useState<Retried | null>(null);
  const canEdit = useCanEdit();
  return (
    <QueryResult query={failures} rows={6}>
      {({ failed, examined, groups }) =>
        groups.length === 0 ? (
          <Empty
            title={filter ? "No matching failures" : "No failures"}
            hint={filter ? "No failed trial of this sweep matches the filter." : "No trial of this sweep has failed."}
          >
            {filter && <Button onClick={() => setQuery({ filter: "" })}>Clear filter</Button>}
          </Empty>
        ) : (
          <>
            <div className="failures-tools">
              <p>
                {countText(failed, "failed trial")} with {countText(groups.length, "message")}
                {examined < failed && `; grouped are the newest ${formatCount(examined)}`}
              </p>
              {canEdit && (
                <>
                  <Button
                    command
                    onClick={() => setRetried({ ids: groups.flatMap(group => group.trial_ids), of: failed })}
                  >
                    Retry all
                  </Button>
                  <ButtonLink href={rerunHref(sweepId, `state:failed ${filter}`.trim())}>Edit and rerun</ButtonLink>
                </>
              )}
            </div>
            {groups.map(group => (
              <GroupPanel
                key={`${group.cause} ${group.message}`}
                sweepId={sweepId}
                group={group}
                onRetry={canEdit ? () => setRetried({ ids: group.trial_ids, of: group.count }) : undefined}
              />
            ))}
            {retried && <Retry sweepId={sweepId} retried={retried} onClose={() => setRetried(null)} />}
          </>
        )
      }
    </QueryResult>
  );
}

/** All values if they are few; else the range of numbers with its finished trials, or the most frequent values. */
function valuesText({ values, distinct, min, max, finished, split }: Group["params"][string]): string {
  const isNumeric = min !== null && max !== null;
  if (distinct > values.length && isNumeric) {
    const apart = split?.ranges.map(each => `${formatValue(each.value)} ${rangeText(each)}`);
    return rangeText({ min, max, finished }) + (apart ? `, by ${split?.parameter}: ${apart.join(", ")}` : "");
  }
  const shown = isNumeric ? [...values].sort((one, other) => Number(one) - Number(other)) : values;
  const more = distinct - values.length;
  return shown.map(formatValue).join(", ") + (more > 0 ? `, ${more} more` : "");
}

function rangeText({ min, max, finished }: { min: number; max: number; finished?: number | null }): string {
  const others = typeof finished === "number" ? ` (${formatCount(finished)} finished there)` : "";
  return `${formatNumber(min)} to ${formatNumber(max)}${others}`;
}

type GroupProps = { sweepId: number; group: Group; onRetry: (() => void) | undefined };

function GroupPanel({ sweepId, group, onRetry }: GroupProps) {
  const devices = Object.entries(group.devices).sort(([, one], [, other]) => other - one);
  const params = Object.entries(group.params);
  const filter = filterOf(group);
  return (
    <Panel
      title={
        <span className="failures-title">
          <span className="failures-count">{formatCount(group.count)} ×</span>{" "}
          <span className="mono">{group.message || "no message"}</span>
        </span>
      }
      hint={[group.cause && causeLabel(group.cause), group.location].filter(Boolean).join(" · ")}
      actions={
        onRetry && (
          <>
            <Button command small onClick={onRetry}>
              Retry {formatCount(group.trial_ids.length)}
            </Button>
            <ButtonLink small href={rerunHref(sweepId, filter)}>
              Edit and rerun
            </ButtonLink>
          </>
        )
      }
    >
      <dl className="failures-facts">
        <div>
          <dt>First</dt>
          <dd>
            <Link href={trialHref(sweepId, group.first_number)}>trial {group.first_number}</Link>
          </dd>
        </div>
        <div>
          <dt>Devices</dt>
          <dd>
            {devices
              .slice(0, MOST_DEVICES)
              .map(([device, count]) => `${device} (${formatCount(count)})`)
              .join(", ")}
            {devices.length > MOST_DEVICES && `, ${devices.length - MOST_DEVICES} more`}
          </dd>
        </div>
        {params.length > 0 && (
          <div>
            <dt>Parameters</dt>
            <dd>
              {params
                .slice(0, MOST_PARAMETERS)
                .map(([name, values]) => `${name} ${valuesText(values)}`)
                .join("; ")}
              {params.length > MOST_PARAMETERS && `; ${params.length - MOST_PARAMETERS} more`}
              {group.trial_ids.length < group.count && ` (the newest ${formatCount(group.trial_ids.length)})`}
            </dd>
          </div>
        )}
        <div>
          <dt>Trials</dt>
          <dd>
            <Link href={withQuery(`/sweeps/${sweepId}/table`, new URLSearchParams({ filter }))}>
              {group.count === 1 ? "show it" : `show all ${formatCount(group.count)}`} in the table
            </Link>
          </dd>
        </div>
      </dl>
      {group.first_message !== group.message && (
        <p className="failures-message mono">
          {group.first_message} <span className="failures-of">(trial {group.first_number})</span>
        </p>
      )}
      {group.log && (
        <details>
          <summary>End of the log of trial {group.first_number}</summary>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable areas must be reachable by keyboard */}
          <pre className="failures-log" tabIndex={0}>
            {group.log}
          </pre>
        </details>
      )}
    </Panel>
  );
}

/** The trials of a group: with its cause and its message. */
function filterOf({ cause, message }: Group): string {
  return `state:failed ${cause ? `cause:${cause} ` : ""}error:${textOf(message)}`;
}

/** A new sweep from this one, with the configurations of the trials of a filter as seed configurations. */
function rerunHref(sweepId: number, filter: string): string {
  return withQuery("/new", new URLSearchParams({ from: String(sweepId), seeds: filter }));
}

function Retry({ sweepId, retried, onClose }: { sweepId: number; retried: Retried; onClose: () => void }) {
  const queries = useQueryClient();
  const { data: sweep } = useSweep(sweepId);
  const count = retried.ids.length;
  const run = async () => {
    const outcome = await forEach(retried.ids, id =>
      done(api.POST("/api/v1/trials/{trial_id}/retry", { params: { path: { trial_id: id } } })),
    );
    void queries.invalidateQueries({ queryKey: keys.sweep(sweepId) });
    toast(outcomeText(outcome, "queued for retry"), outcome.done === 0 ? "failed" : "done");
  };
  return (
    <Confirm title={`Retry ${countText(count, "trial")}`} action="Retry" run={run} onClose={onClose}>
      <p>
        The same parameters and the same program run again. {restartWarning(sweep?.state, "a retry")}
        {count < retried.of && ` These are the newest ${formatCount(count)} of ${formatCount(retried.of)}.`}
      </p>
    </Confirm>
  );
}

function countText(count: number, name: string): string {
  return `${formatCount(count)} ${name}${count === 1 ? "" : "s"}`;
}
