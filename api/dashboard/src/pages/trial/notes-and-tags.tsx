// Notes and tags of a trial. A note is saved by a button or Ctrl-Enter.
import { useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useId, useState } from "react";
import { Link } from "wouter";
import { useConnection } from "../../connection-status";
import { useCanEdit } from "../../use-session";
import { Button } from "../../widgets/button";
import { Icon } from "../../widgets/icon";
import { Panel } from "../../widgets/panel";
import { attempt, toast } from "../../widgets/toast";
import { annotate, type Trial } from "./queries";

export function NotesAndTags({ trial }: { trial: Trial }) {
  const canEdit = useCanEdit();
  return (
    <Panel title="Note and tags">
      <Tags trial={trial} canEdit={canEdit} />
      <Note key={trial.id} trial={trial} canEdit={canEdit} />
    </Panel>
  );
}

function Tags({ trial, canEdit }: { trial: Trial; canEdit: boolean }) {
  const queries = useQueryClient();
  const [typed, setTyped] = useState("");
  const { lost } = useConnection();
  const change = async (body: { add_tags?: string[]; remove_tags?: string[] }) => {
    try {
      await annotate(queries, trial.id, body);
      return true;
    } catch (error) {
      toast(error instanceof Error ? error.message : String(error), "failed");
      return false;
    }
  };
  const add = async (event: FormEvent) => {
    event.preventDefault();
    const tags = typed.split(/[\s,]+/).filter(tag => tag !== "");
    if (tags.length > 0 && (await change({ add_tags: tags }))) setTyped("");
  };
  return (
    <div className="trial-tags">
      {trial.tags.map(tag => (
        <span key={tag} className="trial-tag">
          <Link href={`/sweeps/${trial.sweep_id}/table?filter=${encodeURIComponent(`tag:${tag}`)}`}>{tag}</Link>
          {canEdit && (
            <button
              type="button"
              disabled={lost}
              aria-label={`Remove tag ${tag}`}
              onClick={() => void change({ remove_tags: [tag] })}
            >
              <Icon name="close" size={12} />
            </button>
          )}
        </span>
      ))}
      {canEdit && (
        <form onSubmit={event => void add(event)} className="trial-tag-new">
          <input
            aria-label="New tag"
            placeholder="Add a tag"
            value={typed}
            maxLength={200}
            onChange={event => setTyped(event.target.value)}
          />
          <Button command small type="submit" disabled={typed.trim() === ""}>
            Add
          </Button>
        </form>
      )}
    </div>
  );
}

function Note({ trial, canEdit }: { trial: Trial; canEdit: boolean }) {
  const queries = useQueryClient();
  const id = useId();
  const [draft, setDraft] = useState<string | null>(null); // null: unchanged
  const [busy, setBusy] = useState(false);
  const text = draft ?? trial.note;
  const changed = draft !== null && draft.trim() !== trial.note;
  const save = async () => {
    if (!changed) return;
    setBusy(true);
    if (await attempt(() => annotate(queries, trial.id, { note: text }), "Note saved")) setDraft(null);
    setBusy(false);
  };
  return (
    <div className="trial-note">
      <label htmlFor={id} className="hidden-text">
        Note
      </label>
      <textarea
        id={id}
        rows={Math.min(12, Math.max(2, text.split("\n").length))}
        placeholder={canEdit ? "Add a note about this trial" : "No note"}
        readOnly={!canEdit}
        value={text}
        maxLength={10_000}
        onChange={event => setDraft(event.target.value)}
        onKeyDown={event => {
          if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) void save();
        }}
      />
      {changed && (
        <div className="trial-note-actions">
          <Button command small primary busy={busy} onClick={() => void save()}>
            Save
          </Button>
          <Button small onClick={() => setDraft(null)}>
            Discard
          </Button>
        </div>
      )}
    </div>
  );
}
