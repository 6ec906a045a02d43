// The versions of an ensemble: the active one, the one being rolled out, and rollback.

import { useState } from "react";
import { Link } from "wouter";
import { ExportTable } from "../charts/export";
import type { Rows } from "../charts/export-file";
import { formatShare, formatTime } from "../format";
import { trialHref } from "../trials/trial-references";
import { useCanEdit } from "../use-session";
import { Button, ButtonLink } from "../widgets/button";
import { Confirm } from "../widgets/dialog";
import { Panel } from "../widgets/panel";
import { ScrollX } from "../widgets/scroll-x";
import { toast } from "../widgets/toast";
import { useRunAction } from "./actions";
import { versionHref } from "./draft";
import { type Ensemble, RULES } from "./ensemble-types-and-labels";
import type { Action } from "./queries";

const OVER = new Set(["stopped", "retired"]);

export function Versions({ ensemble }: { ensemble: Ensemble }) {
  const run = useRunAction(ensemble);
  const [confirming, setConfirming] = useState<Action | null>(null);
  const pendingVersion = ensemble.canary ?? ensemble.target;
  const canEdit = useCanEdit();
  const canGoBack = canEdit && !OVER.has(ensemble.state) && (pendingVersion !== null || ensemble.version > 1);
  const back =
    pendingVersion === null
      ? "The previous version becomes active as soon as it is ready."
      : `Version ${pendingVersion} cancelled`;
  const actions = (
    <>
      {canEdit && ensemble.canary !== null && (
        <Button command onClick={() => setConfirming("promote")}>
          Promote canary
        </Button>
      )}
      {canGoBack && (
        <Button command onClick={() => setConfirming("rollback")}>
          Roll back
        </Button>
      )}
      {canEdit && !OVER.has(ensemble.state) && pendingVersion === null && (
        <ButtonLink href={versionHref(ensemble)}>New version</ButtonLink>
      )}
    </>
  );
  return (
    <Panel title="Versions" hint={rolloutText(ensemble)} actions={actions}>
      <ScrollX label="Versions">
        <table className="figures">
          <thead>
            <tr>
              <th scope="col">Version</th>
              <th scope="col">Role</th>
              <th scope="col">Combination rule</th>
              <th scope="col">Members (trials)</th>
              <th scope="col">Built</th>
            </tr>
          </thead>
          <tbody>
            {[...ensemble.versions].reverse().map(version => (
              <tr key={version.number} className={version.role === "active" ? "figures-own" : undefined}>
                <th scope="row">{version.number}</th>
                <td>{version.role}</td>
                <td>{RULES[version.combine] ?? version.combine}</td>
                <td>
                  {version.members.map((member, index) => (
                    <span key={member.trial_id}>
                      {index > 0 && ", "}
                      <Link href={trialHref(member.sweep_id, member.trial_number)}>{memberName(member, ensemble)}</Link>
                    </span>
                  ))}
                </td>
                <td>{formatTime(version.created_at)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollX>
      <ExportTable name="versions" rows={() => versionRows(ensemble)} />
      {confirming && (
        <Confirm
          title={confirming === "promote" ? `Promote version ${ensemble.canary}?` : "Roll back?"}
          action={confirming === "promote" ? "Promote" : "Roll back"}
          run={async () => {
            await run(confirming);
            toast(confirming === "promote" ? "Promoting canary" : "Rolled back");
          }}
          onClose={() => setConfirming(null)}
        >
          <p>{confirming === "promote" ? "It serves all requests as soon as all its members are ready." : back}</p>
        </Confirm>
      )}
    </Panel>
  );
}

/** The table for a file. */
export function versionRows(ensemble: Ensemble): Rows {
  return [
    ["version", "role", "combination rule", "members (trials)", "built"],
    ...[...ensemble.versions]
      .reverse()
      .map(({ number, role, combine, members, created_at }) => [
        ...[number, role, RULES[combine] ?? combine],
        ...[members.map(member => memberName(member, ensemble)).join(", "), created_at],
      ]),
  ];
}

/** The number of its trial; of another sweep, with its sweep. */
function memberName(member: Ensemble["versions"][number]["members"][number], ensemble: Ensemble): string {
  return `${member.trial_number}${member.sweep_id === ensemble.sweep_id ? "" : ` of sweep ${member.sweep_id}`}`;
}

function rolloutText(ensemble: Ensemble): string {
  if (ensemble.canary !== null) {
    return `Version ${ensemble.canary} serves ${formatShare(ensemble.canary_share, 0)} of the requests as a canary.`;
  }
  return ensemble.target === null ? "" : `Version ${ensemble.target} becomes active when it is ready.`;
}
