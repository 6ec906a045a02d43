// Bulk actions on the selected trials: compare, build an ensemble, stop, retry, tag.
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useLocation } from "wouter";
import { api, done } from "../api";
import { add } from "../basket/comparison-basket";
import { formatCount } from "../format";
import { useKeys } from "../keyboard";
import { keys } from "../query-keys";
import { select, useSelection } from "../selection";
import { restartWarning } from "../sweep/sweep";
import { useSweep } from "../sweep/use-sweep";
import { withQuery } from "../url-query-state";
import { useCanEdit } from "../use-session";
import { Button } from "../widgets/button";
import { Confirm } from "../widgets/dialog";
import { Field } from "../widgets/field";
import { toast } from "../widgets/toast";
import { forEach, outcomeText } from "./bulk-requests";

export const MAX_COMPARED = 12;
type BulkAction = "stop" | "retry" | "tag" | null;

const ACTION_TEXTS = {
  stop: {
    title: "Stop",
    done: "stopped",
    text: "Waiting and running trials are cancelled; the sweep continues without them.",
  },
  retry: { title: "Retry", done: "queued for retry", text: "Failed and cancelled trials run again." },
  tag: { title: "Tag", done: "tagged", text: "" },
};

export function SelectedActions({ sweepId }: { sweepId: number }) {
  const { selected } = useSelection(sweepId);
  const [, go] = useLocation();
  const [pendingAction, setPendingAction] = useState<BulkAction>(null);
  const canEdit = useCanEdit();
  const ids = [...selected];
  const compare = () => {
    if (ids.length < 2) toast("Select at least two trials to compare (x selects a row).", "failed");
    else if (ids.length > MAX_COMPARED) toast(`At most ${MAX_COMPARED} trials can be compared.`, "failed");
    else go(`/sweeps/${sweepId}/compare?trials=${ids.join()}`);
  };
  const collect = () => {
    add("trials", ids);
    toast(`${formatCount(ids.length)} added to the comparison with other sweeps.`);
  };
  const ensemble = () => {
    const query = new URLSearchParams(window.location.search);
    if (ids.length > 0) query.set("trials", ids.join());
    go(withQuery(`/sweeps/${sweepId}/ensemble`, query));
  };
  useKeys("Table of trials", {
    c: { does: "compare selected trials", run: compare },
    b: { does: "add selected trials to the comparison with other sweeps", run: () => ids.length > 0 && collect() },
    e: { does: "build an ensemble of selected trials", run: ensemble },
    u: { does: "clear selection", run: () => select(sweepId, []) },
  });
  if (ids.length === 0) return null;
  return (
    <section className="table-selected" aria-label="Selected trials">
      <strong>{formatCount(ids.length)} selected</strong>
      <Button small onClick={compare}>
        Compare
      </Button>
      <Button small onClick={collect}>
        Add to comparison
      </Button>
      {canEdit && (
        <>
          <Button small onClick={ensemble}>
            Add to ensemble
          </Button>
          <Button command small onClick={() => setPendingAction("tag")}>
            Tag
          </Button>
          <Button command small onClick={() => setPendingAction("retry")}>
            Retry
          </Button>
          <Button command small danger onClick={() => setPendingAction("stop")}>
            Stop
          </Button>
        </>
      )}
      <Button small quiet onClick={() => select(sweepId, [])}>
        Clear selection
      </Button>
      {pendingAction && (
        <ConfirmAction sweepId={sweepId} what={pendingAction} ids={ids} onClose={() => setPendingAction(null)} />
      )}
    </section>
  );
}

type ConfirmActionProps = {
  sweepId: number;
  what: NonNullable<BulkAction>;
  ids: readonly number[];
  onClose: () => void;
};

function ConfirmAction({ sweepId, what, ids, onClose }: ConfirmActionProps) {
  const queries = useQueryClient();
  const [tag, setTag] = useState("");
  const labels = ACTION_TEXTS[what];
  const { data: sweep } = useSweep(sweepId);
  const warning = what === "retry" ? restartWarning(sweep?.state, "a retry") : "";
  const count = `${formatCount(ids.length)} ${ids.length === 1 ? "trial" : "trials"}`;
  const run = async () => {
    if (what === "tag" && tag.trim() === "") throw new Error("Enter a tag.");
    const outcome = await forEach(ids, id => sendAction(what, id, tag.trim()));
    void queries.invalidateQueries({ queryKey: keys.sweep(sweepId) });
    for (const id of ids) void queries.invalidateQueries({ queryKey: keys.trial(id) });
    toast(outcomeText(outcome, labels.done), outcome.done === 0 ? "failed" : "done");
  };
  return (
    <Confirm
      title={`${labels.title} ${count}`}
      action={labels.title}
      danger={what === "stop"}
      run={run}
      onClose={onClose}
    >
      {what === "tag" ? (
        <Field label="Tag" hint="Find tagged trials with the filter tag:keep">
          <input value={tag} maxLength={100} onChange={event => setTag(event.target.value)} placeholder="keep" />
        </Field>
      ) : (
        <p>
          {labels.text} {warning}
        </p>
      )}
    </Confirm>
  );
}

function sendAction(what: NonNullable<BulkAction>, trialId: number, tag: string): Promise<unknown> {
  const where = { params: { path: { trial_id: trialId } } };
  if (what === "stop") return done(api.POST("/api/v1/trials/{trial_id}/stop", where));
  if (what === "retry") return done(api.POST("/api/v1/trials/{trial_id}/retry", where));
  return done(api.PATCH("/api/v1/trials/{trial_id}", { ...where, body: { add_tags: [tag], remove_tags: [] } }));
}
