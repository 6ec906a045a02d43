// Terms of the filter of the list of sweeps that buttons and links set.
import { textOf, tokensOf, withTerm } from "../trials/filter-terms";

export function projectTerm(project: string): string {
  return `project:${textOf(project)}`;
}

export function hasTerm(filter: string, term: string): boolean {
  return tokensOf(filter).some(token => token.text === term);
}

/** The filter with the term added or removed. */
export function toggled(filter: string, term: string): string {
  const terms = tokensOf(filter).map(token => token.text);
  return (terms.includes(term) ? terms.filter(each => each !== term) : [...terms, term]).join(" ");
}

/** The filter with another project; "" for all. */
export function withProject(filter: string, project: string): string {
  return withTerm(filter, "project", project === "" ? "" : projectTerm(project));
}

/** The name of the project that the filter selects; "" if it selects none, or several. */
export function projectIn(filter: string, projects: readonly string[]): string {
  return projects.find(project => hasTerm(filter, projectTerm(project))) ?? "";
}

/** The address of the list of sweeps with a filter. */
export function listWith(filter: string): string {
  return `/?${new URLSearchParams({ q: filter })}`;
}
