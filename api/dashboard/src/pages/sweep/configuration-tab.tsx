// A sweep's configuration: its file, its search space, and what is needed to reproduce it.
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Link } from "wouter";
import { api, done } from "../../api";
import { formatCount, formatDuration, formatNumber, formatTime } from "../../format";
import { keys } from "../../query-keys";
import { spaceOf } from "../../sweep/search-space-text";
import { asBlock, type Sweep, trialsText } from "../../sweep/sweep";
import { useSweep } from "../../sweep/use-sweep";
import { ButtonLink } from "../../widgets/button";
import { CopyButton } from "../../widgets/copy-button";
import { Panel } from "../../widgets/panel";
import { QueryResult } from "../../widgets/query-states";
import { Yaml } from "../../yaml/highlight";
import "./configuration-tab.css";

export function ConfigurationTab({ sweepId }: { sweepId: number }) {
  const query = useSweep(sweepId);
  return (
    <QueryResult query={query} rows={8}>
      {sweep => (
        <div className="config">
          <div className="config-side">
            <Again sweep={sweep} />
            <Bounds sweep={sweep} />
            <Space sweep={sweep} />
          </div>
          <File sweep={sweep} />
        </div>
      )}
    </QueryResult>
  );
}

function File({ sweep }: { sweep: Sweep }) {
  const query = useQuery({
    queryKey: keys.sweep(sweep.id, "file"),
    queryFn: ({ signal }) =>
      done(
        api.GET("/api/v1/sweeps/{sweep_id}/file", {
          params: { path: { sweep_id: sweep.id } },
          parseAs: "text",
          signal,
        }),
      ) as Promise<string>,
    staleTime: Number.POSITIVE_INFINITY,
  });
  const actions = (
    <>
      {query.data !== undefined && <CopyButton text={query.data} what="the sweep file" />}
      <a className="button button-small" href={`/api/v1/sweeps/${sweep.id}/file`} download={`sweep-${sweep.id}.yaml`}>
        Download
      </a>
      <ButtonLink small href={`/new?from=${sweep.id}`}>
        New sweep from this one
      </ButtonLink>
    </>
  );
  return (
    <Panel title="Sweep file" hint="As submitted." actions={actions}>
      <QueryResult query={query} rows={8}>
        {text => <Yaml text={text} label="Sweep file" />}
      </QueryResult>
    </Panel>
  );
}

function Again({ sweep }: { sweep: Sweep }) {
  const program = asBlock(sweep.spec.program);
  const data = asBlock(program.data);
  const validation = asBlock(sweep.spec.validation);
  const bundle = typeof program.bundle === "string" ? program.bundle : null;
  return (
    <Panel title="Reproducibility" hint="The seeds, code, data and versions that the results depend on.">
      <Facts>
        <Fact name="Search seed">{String(sweep.spec.seed ?? 0)}</Fact>
        <Fact name="Split seed">{Object.keys(data).length > 0 ? String(validation.seed ?? 0) : null}</Fact>
        <Fact name="Program">{programText(program)}</Fact>
        <Fact name="Code (SHA-256)">
          {bundle && (
            <span className="config-hash">
              <code title={bundle}>{bundle.slice(0, 16)}…</code>
              <CopyButton text={bundle} what="the hash of the code" />
            </span>
          )}
        </Fact>
        <Fact name="Data">{dataText(data)}</Fact>
        <Fact name="Data fingerprint">{typeof data.source === "string" ? <code>{data.source}</code> : null}</Fact>
        {Object.entries(sweep.versions ?? {}).map(([name, version]) => (
          <Fact key={name} name={VERSION_NAMES[name] ?? name}>
            {version}
          </Fact>
        ))}
        <Fact name="Packages">
          {sweep.provenance.packages_sha256 && (
            <a href={`/api/v1/sweeps/${sweep.id}/packages`} download={`sweep-${sweep.id}-packages.txt`}>
              {sweep.provenance.packages_sha256.slice(0, 16)}…
            </a>
          )}
        </Fact>
        <Fact name="Git commit">
          {sweep.provenance.git_commit && (
            <>
              <code>{sweep.provenance.git_commit}</code>
              {sweep.provenance.git_dirty && " with uncommitted changes"}
            </>
          )}
        </Fact>
        <Fact name="Submitted by">
          {sweep.provenance.command.length > 0 ? <code>{sweep.provenance.command.join(" ")}</code> : null}
        </Fact>
        <Fact name="Submitted">{formatTime(sweep.created_at)}</Fact>
      </Facts>
    </Panel>
  );
}

const VERSION_NAMES: Record<string, string> = {
  podium: "Podium",
  python: "Python",
  system: "System",
  torch: "PyTorch",
};

function programText(program: Record<string, unknown>): string | null {
  if (typeof program.function === "string") return `function ${program.function}`;
  if (Array.isArray(program.command)) return `command ${program.command.join(" ")}`;
  if (typeof program.script === "string") return `script ${program.script}`;
  if (typeof program.imported === "string") return `imported from ${program.imported}`;
  return typeof program.model === "string" ? `built-in model ${program.model}` : null;
}

function dataText(data: Record<string, unknown>): string | null {
  const parts = [data.name, data.file ?? data.idx ?? data.root, data.target && `target ${data.target}`];
  return parts.filter(part => typeof part === "string").join(", ") || null;
}

function Bounds({ sweep }: { sweep: Sweep }) {
  const { budget, warm_start: warm } = sweep;
  const submitted = Number(sweep.spec.run_cap ?? sweep.run_cap);
  const earlier = Array.isArray(sweep.spec.warm_start) ? (sweep.spec.warm_start as number[]) : [];
  return (
    <Panel title="Limits and budget">
      <Facts>
        <Fact name="Trials">
          {formatCount(sweep.run_cap)}
          {submitted < sweep.run_cap && ` (submitted with ${formatCount(submitted)})`}
        </Fact>
        <Fact name="Priority">{formatNumber(sweep.priority)}</Fact>
        <Fact name="Time">{budget && spent(budget.wall_s)}</Fact>
        <Fact name="Device time">{budget && spent(budget.device_s)}</Fact>
        <Fact name="Plateau">
          {budget?.plateau &&
            `stops after ${trialsText(budget.plateau.allowed)} without improvement; ${budget.plateau.used} so far`}
        </Fact>
        <Fact name="Target">
          {budget?.target &&
            `${formatNumber(budget.target.value)}, ${budget.target.reached_by === null ? "not reached" : `reached by trial ${budget.target.reached_by}`}`}
        </Fact>
        <Fact name="After">
          {sweep.predecessors.length > 0 &&
            sweep.predecessors.map(each => (
              <Link key={each.id} href={`/sweeps/${each.id}`}>{` sweep ${each.id}`}</Link>
            ))}
        </Fact>
        <Fact name="Fixed parameters">
          {sweep.fixed &&
            `${Object.keys(sweep.fixed.params).join(", ")}, from trial ${sweep.fixed.number} of sweep ${sweep.fixed.sweep_id}`}
        </Fact>
        <Fact name="Warm start">
          {warm && (
            <>
              {trialsText(warm.trials)} of{" "}
              {earlier.map(id => (
                <Link key={id} href={`/sweeps/${id}`}>{` sweep ${id}`}</Link>
              ))}
              {warm.dropped > 0 && `; ${trialsText(warm.dropped)} skipped: ${warm.why.join("; ")}`}
            </>
          )}
        </Fact>
      </Facts>
    </Panel>
  );
}

function spent({ used, allowed }: { used: number; allowed: number | null }): string {
  return allowed === null
    ? `${formatDuration(used)}, unlimited`
    : `${formatDuration(used)} of ${formatDuration(allowed)}`;
}

function Space({ sweep }: { sweep: Sweep }) {
  const rows = spaceOf(sweep.spec.parameters);
  if (rows.length === 0) {
    return (
      <Panel
        title="Parameters"
        hint="The sweep file defines no parameters: the program suggests them at run time (define-by-run). Each trial shows its own."
      >
        {null}
      </Panel>
    );
  }
  return (
    <Panel title="Parameters" flush>
      <div className="config-scroll">
        <table className="config-space">
          <thead>
            <tr>
              <th scope="col">Name</th>
              <th scope="col">Kind</th>
              <th scope="col">Values</th>
            </tr>
          </thead>
          <tbody>
            {rows.map(row => (
              <tr key={row.name}>
                <th scope="row">{row.name}</th>
                <td>{row.kind}</td>
                <td>
                  {row.range}
                  {row.note && <span className="config-note">{row.note}</span>}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Panel>
  );
}

function Facts({ children }: { children: ReactNode }) {
  return <dl className="config-facts">{children}</dl>;
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  if (children === null || children === undefined || children === false) return null;
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
