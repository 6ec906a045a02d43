// The project, tags and owner of a sweep as links to the list of sweeps with that filter.
import { useState } from "react";
import { Link } from "wouter";
import type { Sweep } from "../sweep/sweep";
import { CutName } from "../widgets/cut-name";
import { listWith, projectTerm } from "./list-filter-terms";
import "./organize.css";

/** `most`: tags that are shown at once; the others after a click. */
export function SweepLabels({ sweep, most = Number.POSITIVE_INFINITY }: { sweep: Sweep; most?: number }) {
  const [isWhole, setWhole] = useState(false);
  const shown = isWhole || sweep.tags.length <= most ? sweep.tags : sweep.tags.slice(0, most);
  const hidden = sweep.tags.slice(shown.length);
  if (sweep.project === "" && sweep.tags.length === 0 && sweep.owner === "" && !sweep.archived) return null;
  return (
    <span className={isWhole ? "labels labels-whole" : "labels"}>
      {sweep.archived && <span className="label label-archived">archived</span>}
      {sweep.project !== "" && (
        <Link
          className="label label-project"
          href={listWith(projectTerm(sweep.project))}
          title="Project"
          aria-label={sweep.project}
        >
          <CutName name={sweep.project} title={`Project ${sweep.project}`} />
        </Link>
      )}
      {shown.map(tag => (
        <Link
          key={tag}
          className="label"
          href={listWith(`tag:${tag}`)}
          title={`Sweeps with the tag ${tag}`}
          aria-label={tag}
        >
          <CutName name={tag} title={`Sweeps with the tag ${tag}`} />
        </Link>
      ))}
      {hidden.length > 0 && (
        <button
          type="button"
          className="label labels-more"
          title={`Show the tags ${hidden.join(", ")}`}
          onClick={() => setWhole(true)}
        >
          +{hidden.length}
          <span className="hidden-text"> more tags</span>
        </button>
      )}
      {sweep.owner !== "" && (
        <span className="labels-owner">
          by <Link href={listWith(`owner:${sweep.owner}`)}>{sweep.owner}</Link>
        </span>
      )}
    </span>
  );
}
