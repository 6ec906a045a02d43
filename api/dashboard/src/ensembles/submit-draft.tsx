// The last step of the builder: a new ensemble with a name, or a new version of an existing one.
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Link, useLocation } from "wouter";
import { api, done, type Schemas } from "../api";
import { keys } from "../query-keys";
import { setQuery } from "../url-query-state";
import { useCanEdit } from "../use-session";
import { Button } from "../widgets/button";
import { Confirm } from "../widgets/dialog";
import { Field } from "../widgets/field";
import { attempt, toast } from "../widgets/toast";
import type { Request } from "./draft";
import { useEnsemble } from "./queries";

const READ_ONLY = "Requires the submitter role";

export function Build({ request }: { request: Request | null }) {
  const [name, setName] = useState("");
  const [busy, setBusy] = useState(false);
  const [, go] = useLocation();
  const queries = useQueryClient();
  const canEdit = useCanEdit();
  const build = async () => {
    setBusy(true);
    const body = { ...request, name: name.trim() || null } as Schemas["EnsembleRequest"];
    await attempt(async () => {
      const built = await done(api.POST("/api/v1/ensembles", { body }));
      await queries.invalidateQueries({ queryKey: keys.ensembles() });
      go(`/ensembles/${built.id}`);
    }, "Building ensemble");
    setBusy(false);
  };
  return (
    <form
      className="builder-build"
      onSubmit={event => {
        event.preventDefault();
        void build();
      }}
    >
      <input
        aria-label="Name of the ensemble"
        placeholder="Name (optional)"
        maxLength={120}
        value={name}
        onChange={event => setName(event.target.value)}
      />
      <Button
        command
        primary
        type="submit"
        busy={busy}
        disabled={request === null || !canEdit}
        title={canEdit ? undefined : READ_ONLY}
      >
        Build
      </Button>
    </form>
  );
}

export function BuildVersion({ request, ensembleId }: { request: Request | null; ensembleId: number }) {
  const [percent, setPercent] = useState("");
  const [confirming, setConfirming] = useState(false);
  const [, go] = useLocation();
  const queries = useQueryClient();
  const canEdit = useCanEdit();
  const query = useEnsemble(ensembleId);
  const name = query.data?.name ?? `ensemble ${ensembleId}`;
  const share = Number(percent) / 100;
  const problem = percent.trim() !== "" && !(share > 0 && share < 1) ? "Must be between 0 and 100" : undefined;
  const canary = percent.trim() === "" ? null : share;
  const build = async () => {
    const body = { ...request, canary_share: canary } as Schemas["VersionRequest"];
    const path = { ensemble_id: ensembleId };
    const after = await done(api.POST("/api/v1/ensembles/{ensemble_id}/versions", { params: { path }, body }));
    queries.setQueryData(keys.ensemble(ensembleId), after);
    await queries.invalidateQueries({ queryKey: keys.ensembles() });
    toast(`Building a new version of ${name}`);
    go(`/ensembles/${ensembleId}`);
  };
  return (
    <div className="builder-version">
      <p>
        Of <Link href={`/ensembles/${ensembleId}`}>{name}</Link>
        {query.data && `, which is at version ${query.data.version}`}.{" "}
        <button type="button" className="builder-instead" onClick={() => setQuery({ version_of: "" })}>
          Build a new ensemble instead
        </button>
      </p>
      <Field
        label="Canary, % of the requests"
        hint="If empty, the version becomes active as soon as it is ready."
        problem={problem}
      >
        <input
          inputMode="decimal"
          placeholder="none"
          value={percent}
          onChange={event => setPercent(event.target.value)}
        />
      </Field>
      <Button
        command
        primary
        disabled={request === null || problem !== undefined || !canEdit}
        title={canEdit ? undefined : READ_ONLY}
        onClick={() => setConfirming(true)}
      >
        Build version
      </Button>
      {confirming && (
        <Confirm
          title={`Build a new version of ${name}?`}
          action="Build version"
          run={build}
          onClose={() => setConfirming(false)}
        >
          <p>
            {canary === null
              ? "It serves all requests as soon as all its members are ready. To restore the current version, roll back."
              : `It serves ${percent.trim()} % of the requests as soon as it is ready. Then promote it, or roll back.`}
          </p>
        </Confirm>
      )}
    </div>
  );
}
