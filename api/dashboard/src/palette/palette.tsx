// The command palette: sweeps, trials, ensembles, projects and actions by a few typed characters.

import { useQuery } from "@tanstack/react-query";
import { type KeyboardEvent, useEffect, useId, useLayoutEffect, useMemo, useRef, useState } from "react";
import { useLocation } from "wouter";
import { api, done } from "../api";
import { add } from "../basket/comparison-basket";
import { keys } from "../query-keys";
import { useDebounced } from "../use-debounced";
import { CutName } from "../widgets/cut-name";
import { toast } from "../widgets/toast";
import { actionItems, foundItems, type Item } from "./palette-items";
import "./palette.css";

const WAIT_MS = 120;
const LIMIT = 20;

export function Palette({ onClose }: { onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const list = useId();
  const [, go] = useLocation();
  const [words, setWords] = useState("");
  const [at, setAt] = useState(0);
  const asked = useDebounced(words.trim(), WAIT_MS);
  const query = useQuery({
    queryKey: keys.search(asked),
    queryFn: ({ signal }) => done(api.GET("/api/v1/search", { params: { query: { q: asked, limit: LIMIT } }, signal })),
    staleTime: 5_000,
  });
  const items = useMemo(() => {
    const [actions, found] = [actionItems(words), foundItems(query.data ?? [])];
    return words.trim() === "" ? [...found.slice(0, 6), ...actions] : [...found, ...actions];
  }, [words, query.data]);
  const current = Math.min(at, items.length - 1);
  useLayoutEffect(() => {
    const element = dialog.current;
    if (element && !element.open) element.showModal();
    return () => element?.close();
  }, []);
  useEffect(() => {
    document.getElementById(`${list}-${current}`)?.scrollIntoView({ block: "nearest" });
  }, [list, current]);

  const choose = (item: Item | undefined) => {
    if (!item) return;
    onClose();
    if (item.href) go(item.href);
    else setTimeout(() => item.run?.()); // after the dialog is gone: an action may open another one
  };
  const addToComparison = (item: Item | undefined) => {
    if (!item?.basket) return;
    add(item.basket.kind, [item.basket.id]);
    toast(`Added to the comparison: ${item.name}`);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) setAt((current + step + items.length) % Math.max(1, items.length));
    else if (event.key === "Enter" && event.shiftKey) addToComparison(items[current]);
    else if (event.key === "Enter") choose(items[current]);
    else if (event.key === "Home" && event.ctrlKey) setAt(0);
    else if (event.key === "End" && event.ctrlKey) setAt(items.length - 1);
    else return;
    event.preventDefault();
  };
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the browser closes it on Escape
    <dialog
      ref={dialog}
      className="palette"
      aria-label="Command palette"
      onCancel={event => {
        event.preventDefault();
        onClose();
      }}
      onClick={event => event.target === dialog.current && onClose()}
    >
      <input
        // biome-ignore lint/a11y/noAutofocus: the palette is opened to type
        autoFocus
        className="palette-input"
        role="combobox"
        aria-expanded={items.length > 0}
        aria-controls={list}
        aria-activedescendant={items.length > 0 ? `${list}-${current}` : undefined}
        aria-autocomplete="list"
        aria-label="Find a sweep, a trial, an ensemble, a project or an action"
        placeholder="Name, id, 7/3 for trial 3 of sweep 7, or an action"
        spellCheck={false}
        value={words}
        onChange={event => {
          setWords(event.target.value);
          setAt(0);
        }}
        onKeyDown={onKeyDown}
      />
      <Options id={list} items={items} current={current} onChoose={choose} />
      {items.length === 0 && (
        <p className="palette-none" role="status">
          {query.isFetching ? "Searching" : "Nothing found"}
        </p>
      )}
      {query.isError && (
        <p className="palette-none" role="alert">
          {query.error.message}
        </p>
      )}
      <p className="palette-keys">
        <kbd>↑</kbd> <kbd>↓</kbd> move · <kbd>Enter</kbd> open · <kbd>Shift Enter</kbd> add to the comparison ·{" "}
        <kbd>Esc</kbd> close
      </p>
    </dialog>
  );
}

type OptionsProps = { id: string; items: readonly Item[]; current: number; onChoose: (item: Item) => void };

function Options({ id, items, current, onChoose }: OptionsProps) {
  return (
    <div id={id} role="listbox" aria-label="Results" className="palette-list">
      {items.map((item, index) => (
        // biome-ignore lint/a11y/useKeyWithClickEvents: the input handles the keys, as in every combobox
        <div
          key={item.key}
          id={`${id}-${index}`}
          role="option"
          tabIndex={-1}
          aria-selected={index === current}
          className="palette-item"
          onClick={() => onChoose(item)}
        >
          <span className="palette-name">
            <CutName name={item.name} />
          </span>
          <span className="palette-detail">{item.detail}</span>
          {item.keys && <kbd>{item.keys}</kbd>}
        </div>
      ))}
    </div>
  );
}
