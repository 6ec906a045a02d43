// What the sweep file says for people: project, tags and description.
import { useProjects } from "../organize/details";
import type { Draft } from "./sweep-file-draft";
import { KeyField, KeyText } from "./sweep-file-key-fields";

export function DetailsFields({ draft }: { draft: Draft }) {
  const projects = useProjects().data ?? [];
  return (
    <>
      <KeyField
        draft={draft}
        path={["project"]}
        label="Project"
        hint="Groups sweeps in the list"
        suggestions={projects.map(({ name }) => name)}
      />
      <KeyField draft={draft} path={["tags"]} kind="list" label="Tags" hint="Separated by commas" />
      <KeyText draft={draft} path={["description"]} label="Description" hint="Markdown" />
    </>
  );
}
