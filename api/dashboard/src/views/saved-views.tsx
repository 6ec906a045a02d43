// The menu of saved views: opens one, saves the current one, deletes one. `?view=NAME` alone opens the view of that name.
import { useQueryClient } from "@tanstack/react-query";
import { type MouseEvent, useEffect, useRef, useState } from "react";
import { Link, useLocation, useSearch } from "wouter";
import { usePaletteActions } from "../palette/palette-actions";
import type { Sweep } from "../sweep/sweep";
import { useSweep } from "../sweep/use-sweep";
import { useIsViewer } from "../use-session";
import { Button } from "../widgets/button";
import { CutName } from "../widgets/cut-name";
import { Confirm, Dialog } from "../widgets/dialog";
import { Field } from "../widgets/field";
import { Icon } from "../widgets/icon";
import { Menu } from "../widgets/menu";
import { toast } from "../widgets/toast";
import {
  deleteView,
  hrefOf,
  isShown,
  nameIn,
  type SavedView,
  saveView,
  stateOf,
  useViews,
  type ViewTab,
} from "./views";
import "./saved-views.css";

type Props = { sweepId: number; tab: ViewTab };

export function SavedViews({ sweepId, tab }: Props) {
  const sweep = useSweep(sweepId).data;
  return sweep?.id === sweepId ? <ViewsOf key={sweepId} sweep={sweep} tab={tab} /> : null;
}

function ViewsOf({ sweep, tab }: { sweep: Sweep; tab: ViewTab }) {
  const search = useSearch();
  const views = useViews(sweep.project).data ?? [];
  const isViewer = useIsViewer();
  const [isSaving, setSaving] = useState(false);
  const [leaving, setLeaving] = useState<SavedView | null>(null);
  const name = nameIn(search);
  const shown = views.find(view => view.name === name);
  const changed = shown !== undefined && !isShown(shown, tab, search);
  useNamedView(sweep.id, name, search, shown);
  const [, go] = useLocation();
  usePaletteActions([
    ...views.map(view => ({ name: `View: ${view.name}`, run: () => go(hrefOf(view, sweep.id)) })),
    ...(isViewer ? [] : [{ name: "Save this view", run: () => setSaving(true) }]),
  ]);
  const label = shown ? `${shown.name}${changed ? " (changed)" : ""}` : "Views";
  return (
    <div className="views">
      <Menu
        quiet
        label={
          <>
            <Icon name="bookmark" size={15} />{" "}
            <span className="views-name">
              <CutName name={label} />
            </span>
          </>
        }
      >
        {views.length === 0 && <p className="views-none">No saved views</p>}
        <ul className="views-list">
          {views.map(view => (
            <li key={view.id}>
              <Link
                href={hrefOf(view, sweep.id)}
                className="button button-quiet"
                aria-current={view === shown && !changed ? "true" : undefined}
                onClick={close}
              >
                {view.name}
                <span className="views-of">{view.project === "" ? "all sweeps" : view.project}</span>
              </Link>
              {!isViewer && (
                <Button
                  command
                  quiet
                  small
                  title={`Delete the view ${view.name}`}
                  onClick={event => {
                    close(event);
                    setLeaving(view);
                  }}
                >
                  <Icon name="close" size={13} />
                </Button>
              )}
            </li>
          ))}
        </ul>
        {!isViewer && (
          <Button
            command
            quiet
            onClick={event => {
              close(event);
              setSaving(true);
            }}
          >
            Save this view
          </Button>
        )}
      </Menu>
      {isSaving && <SaveDialog sweep={sweep} tab={tab} before={shown} onClose={() => setSaving(false)} />}
      {leaving && <Leaving view={leaving} onClose={() => setLeaving(null)} />}
    </div>
  );
}

/** Opens the view that a short address names, once. */
function useNamedView(sweepId: number, name: string, search: string, view: SavedView | undefined): void {
  const isOpened = useRef(name === "" || Object.keys(stateOf(search)).length > 0);
  const [, go] = useLocation();
  useEffect(() => {
    if (isOpened.current || !view) return;
    isOpened.current = true;
    go(hrefOf(view, sweepId), { replace: true });
  }, [sweepId, view, go]);
}

function close(event: MouseEvent<HTMLElement>): void {
  event.currentTarget.closest<HTMLElement>("[popover]")?.hidePopover();
}

type SaveProps = { sweep: Sweep; tab: ViewTab; before: SavedView | undefined; onClose: () => void };

function SaveDialog({ sweep, tab, before, onClose }: SaveProps) {
  const queries = useQueryClient();
  const search = useSearch();
  const [, go] = useLocation();
  const [name, setName] = useState(before?.name ?? "");
  const [project, setProject] = useState(before?.project ?? sweep.project);
  const [error, setError] = useState("");
  const save = async () => {
    try {
      const saved = await saveView(queries, { name: name.trim(), project, tab, query: stateOf(search) });
      onClose();
      go(hrefOf(saved, sweep.id), { replace: true });
      toast(`View saved: ${saved.name}`);
    } catch (refused) {
      setError(refused instanceof Error ? refused.message : String(refused));
    }
  };
  const actions = (
    <>
      <Button onClick={onClose}>Cancel</Button>
      <Button command primary type="submit" disabled={name.trim() === ""}>
        Save
      </Button>
    </>
  );
  return (
    <Dialog title="Save this view" onClose={onClose} onSubmit={() => void save()} actions={actions}>
      <Field label="Name" hint="Tab, filter, sort and columns. A view of the same name is replaced.">
        <input value={name} maxLength={60} onChange={event => setName(event.target.value)} />
      </Field>
      <Field label="For">
        <select value={project} onChange={event => setProject(event.target.value)}>
          {sweep.project !== "" && <option value={sweep.project}>sweeps of the project {sweep.project}</option>}
          <option value="">all sweeps</option>
        </select>
      </Field>
      {error && (
        <p role="alert" className="dialog-refused">
          {error}
        </p>
      )}
    </Dialog>
  );
}

function Leaving({ view, onClose }: { view: SavedView; onClose: () => void }) {
  const queries = useQueryClient();
  return (
    <Confirm
      title={`Delete the view ${view.name}?`}
      action="Delete"
      danger
      run={() => deleteView(queries, view)}
      onClose={onClose}
    >
      <p>
        It is deleted for everyone{view.owner && `; saved by ${view.owner}`}. Links to it keep their filter, sort and
        columns.
      </p>
    </Confirm>
  );
}
