// Buttons and choices next to the filter of the list of sweeps: they set its terms.
import { Select } from "../widgets/select";
import { useProjects } from "./details";
import { hasTerm, projectIn, toggled, withProject } from "./list-filter-terms";
import "./organize.css";

const TOGGLES = [
  { term: "is:starred", name: "Starred" },
  { term: "is:mine", name: "Mine" },
  { term: "is:archived", name: "Archived" },
];

export function ListFilters({ filter, onFilter }: { filter: string; onFilter: (filter: string) => void }) {
  const projects = (useProjects().data ?? []).map(project => project.name);
  return (
    <>
      <fieldset className="sweeps-states">
        <legend className="hidden-text">Only</legend>
        {TOGGLES.map(({ term, name }) => (
          <button
            key={term}
            type="button"
            className="sweeps-state"
            aria-pressed={hasTerm(filter, term)}
            onClick={() => onFilter(toggled(filter, term))}
          >
            {name}
          </button>
        ))}
      </fieldset>
      {projects.length > 0 && (
        <Select
          label="Project"
          value={projectIn(filter, projects)}
          options={[{ value: "", name: "All" }, ...projects.map(name => ({ value: name, name }))]}
          onChange={project => onFilter(withProject(filter, project))}
        />
      )}
    </>
  );
}
