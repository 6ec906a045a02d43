// The dialog in which users change what they wrote about a sweep.
import { useQueryClient } from "@tanstack/react-query";
import { useId, useState } from "react";
import type { Sweep } from "../sweep/sweep";
import { Button } from "../widgets/button";
import { Dialog } from "../widgets/dialog";
import { Field } from "../widgets/field";
import { part } from "../widgets/lazy-part";
import { changeDetails, type DetailChanges, tagsOf, useProjects } from "./details";
import "./organize.css";

const RenderedMarkdown = part("the description", () => import("./markdown").then(module => module.RenderedMarkdown), 2);
type Draft = { name: string; project: string; tags: string; description: string };

export function DetailsDialog({ sweep, onClose }: { sweep: Sweep; onClose: () => void }) {
  const queries = useQueryClient();
  const projects = useProjects().data ?? [];
  const choices = useId();
  const [draft, setDraft] = useState<Draft>({
    name: sweep.name,
    project: sweep.project,
    tags: sweep.tags.join(" "),
    description: sweep.description ?? "",
  });
  const [isPreview, setPreview] = useState(false);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState("");
  const set = (change: Partial<Draft>) => setDraft(before => ({ ...before, ...change }));
  const save = async () => {
    if (busy) return;
    setBusy(true);
    try {
      await changeDetails(queries, sweep.id, changesOf(sweep, draft));
      onClose();
    } catch (refused) {
      setError(refused instanceof Error ? refused.message : String(refused));
      setBusy(false);
    }
  };
  const actions = (
    <>
      <Button onClick={onClose}>Cancel</Button>
      <Button command primary busy={busy} type="submit">
        Save
      </Button>
    </>
  );
  return (
    <Dialog
      title={`Details of sweep ${sweep.id}`}
      onClose={onClose}
      onSubmit={() => void save()}
      actions={actions}
      wide
    >
      <Field label="Name">
        <input value={draft.name} maxLength={120} onChange={event => set({ name: event.target.value })} />
      </Field>
      <Field label="Project" hint="Groups sweeps in the list. A new name makes a new project.">
        <input
          value={draft.project}
          maxLength={128}
          list={choices}
          onChange={event => set({ project: event.target.value })}
        />
      </Field>
      <datalist id={choices}>
        {projects.map(project => (
          <option key={project.name} value={project.name} />
        ))}
      </datalist>
      <Field label="Tags" hint="Separated by spaces.">
        <input value={draft.tags} maxLength={1200} onChange={event => set({ tags: event.target.value })} />
      </Field>
      {isPreview ? (
        <section className="description-preview" aria-label="Preview of the description">
          <RenderedMarkdown text={draft.description} level={3} />
        </section>
      ) : (
        <Field label="Description" hint="Markdown: headings, lists, tables, links. HTML stays text.">
          <textarea
            rows={9}
            value={draft.description}
            maxLength={20_000}
            onChange={event => set({ description: event.target.value })}
            onKeyDown={event => {
              if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) void save();
            }}
          />
        </Field>
      )}
      <div>
        <Button small aria-pressed={isPreview} onClick={() => setPreview(!isPreview)}>
          {isPreview ? "Edit the description" : "Preview the description"}
        </Button>
      </div>
      {error && (
        <p role="alert" className="dialog-refused">
          {error}
        </p>
      )}
    </Dialog>
  );
}

/** Only what differs, so that a change that somebody else made meanwhile stays. */
export function changesOf(sweep: Sweep, draft: Draft): DetailChanges {
  const changes: DetailChanges = {};
  if (draft.name.trim() !== sweep.name) changes.name = draft.name;
  if (draft.project.trim() !== sweep.project) changes.project = draft.project;
  if (draft.description.trim() !== (sweep.description ?? "")) changes.description = draft.description;
  const tags = tagsOf(draft.tags);
  changes.add_tags = tags.filter(tag => !sweep.tags.includes(tag));
  changes.remove_tags = sweep.tags.filter(tag => !tags.includes(tag));
  return changes;
}
