// The project, tags and owner of a sweep as links to the list of sweeps with that filter.
import { Link } from "wouter";
import type { Sweep } from "../sweep/sweep";
import { listWith, projectTerm } from "./list-terms";
import "./organize.css";

export function SweepLabels({ sweep }: { sweep: Sweep }) {
  if (sweep.project === "" && sweep.tags.length === 0 && sweep.owner === "" && !sweep.archived) return null;
  return (
    <span className="labels">
      {sweep.archived && <span className="label label-archived">archived</span>}
      {sweep.project !== "" && (
        <Link className="label label-project" href={listWith(projectTerm(sweep.project))} title="Project">
          {sweep.project}
        </Link>
      )}
      {sweep.tags.map(tag => (
        <Link key={tag} className="label" href={listWith(`tag:${tag}`)} title={`Sweeps with the tag ${tag}`}>
          {tag}
        </Link>
      ))}
      {sweep.owner !== "" && (
        <span className="labels-owner">
          by <Link href={listWith(`owner:${sweep.owner}`)}>{sweep.owner}</Link>
        </span>
      )}
    </span>
  );
}
