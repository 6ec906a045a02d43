// The sweep file being edited: its text is the source of truth, the service parses it, and forms edit its keys.
import { useQuery } from "@tanstack/react-query";
import { useCallback, useRef, useState } from "react";
import { api, done, type Schemas } from "../api";
import { readStored, removeStored, writeStored } from "../tab-storage";
import { useDebounced } from "../use-debounced";
import { toast } from "../widgets/toast";
import type { Document, Numbers, Path } from "./yaml-values";

export type Change = { path: string[]; value: string | null };
export type Read = Schemas["SweepFileView"];
export type Problem = Schemas["FileProblemView"];

export type Parsed = { document: Document; numbers: Numbers };

export type Draft = {
  text: string;
  setText: (text: string) => void;
  change: (changes: Change[]) => Promise<void>;
  update: (changesFor: (current: Parsed) => Change[]) => Promise<void>; // for changes that depend on what the file says
  completeText: () => Promise<string>; // the text once all form edits are applied
  read: Read | undefined;
  fresh: boolean; // `read` belongs to the current text
  failed: unknown;
  document: Document;
  numbers: Numbers;
  problemAt: (path: Path, but?: string) => string | undefined; // of a key or of what is below it, except for one subkey
};

const STORAGE_KEY = "podium-new-sweep";
const WAIT_MS = 300;
const TRIES = 3;
const NO_DEVICES_MS = 3_000; // the service is starting

/** `from`: the sweep that was copied, and what was changed in it, such as "7" or "7 seeds state:failed". */
function storageKeyOf(from?: string): string {
  return from === undefined ? STORAGE_KEY : `${STORAGE_KEY}-${from}`;
}

/** The unsubmitted text of this tab, copied from sweep `from` or written from scratch. */
export function storedText(from?: string): string | null {
  return readStored(storageKeyOf(from));
}

export function storeText(text: string, from?: string): void {
  writeStored(storageKeyOf(from), text);
}

export function clearStoredText(from?: string): void {
  removeStored(storageKeyOf(from));
}

export function useDraft(first: string, from?: string): Draft {
  const [text, setTextState] = useState(first);
  const [wait, setWait] = useState(0);
  const debounced = useDebounced(text, wait);
  const latest = useRef(text);
  const queue = useRef<Promise<void>>(Promise.resolve());
  const waiting = useRef<Change[] | null>(null); // the last changes of the queue, while they are not being applied

  const updateText = useCallback(
    (next: string, typed = true) => {
      setWait(typed ? WAIT_MS : 0); // form edits are complete: the text is parsed at once
      latest.current = next;
      storeText(next, from);
      setTextState(next);
    },
    [from],
  );

  const query = useQuery({
    queryKey: ["sweep-file", debounced],
    queryFn: ({ signal }) => readText(debounced, signal),
    staleTime: Number.POSITIVE_INFINITY,
    refetchInterval: ({ state }) => (state.data?.plan?.devices.count === 0 ? NO_DEVICES_MS : false),
  });

  const enqueue = useCallback(
    (changesFor: (text: string) => Promise<Change[]>) => {
      queue.current = queue.current
        .then(() => applyChanges(latest, changesFor, updateText))
        .catch(error => toast(messageOf(error), "failed"));
      return queue.current;
    },
    [updateText],
  );
  const change = useCallback(
    (changes: Change[]) => {
      if (waiting.current && pathsOf(waiting.current) === pathsOf(changes)) {
        waiting.current.splice(0, changes.length, ...changes); // typed meanwhile: the newest text is the one to write
        return queue.current;
      }
      const own = [...changes];
      waiting.current = own;
      return enqueue(async () => {
        if (waiting.current === own) waiting.current = null;
        return own;
      });
    },
    [enqueue],
  );
  const update = useCallback<Draft["update"]>(
    changesFor => {
      waiting.current = null; // later changes are applied after this one
      return enqueue(async current => changesFor(parsedOf(await readText(current))));
    },
    [enqueue],
  );

  const completeText = useCallback(async () => {
    await queue.current;
    return latest.current;
  }, []);

  const read = query.data;
  return {
    text,
    setText: updateText,
    change,
    update,
    completeText,
    read,
    fresh: debounced === text && !query.isPlaceholderData && read !== undefined,
    failed: query.error,
    ...parsedOf(read),
    problemAt: (path, but) => problemOf(read?.problems ?? [], path, but),
  };
}

function pathsOf(changes: readonly Change[]): string {
  return JSON.stringify(changes.map(change => change.path));
}

function readText(text: string, signal?: AbortSignal): Promise<Read> {
  return done(api.POST("/api/v1/sweep-files/read", { body: { text }, signal }));
}

function parsedOf(read: Read | undefined): Parsed {
  return { document: (read?.document ?? {}) as Document, numbers: read?.numbers ?? {} };
}

/** Computes the changes from the current text, not from the last text that was parsed for the form. */
async function applyChanges(
  latest: { current: string },
  changesFor: (text: string) => Promise<Change[]>,
  updateText: (text: string, typed: boolean) => void,
): Promise<void> {
  for (let attempt = 0; attempt < TRIES; attempt += 1) {
    const before = latest.current;
    const changes = await changesFor(before);
    if (changes.length === 0) return;
    const { text } = await done(api.POST("/api/v1/sweep-files/write", { body: { text: before, changes } }));
    if (latest.current !== before) continue; // the text changed meanwhile: apply the edit to the current text
    updateText(text, false);
    return;
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The first problem of a key or of what is below it, except for its subkey `but`, which reports its own. */
export function problemOf(problems: readonly Problem[], path: Path, but?: string): string | undefined {
  const found = problems.find(
    problem =>
      path.every((key, place) => problem.path[place] === key) &&
      (but === undefined || problem.path[path.length] !== but),
  );
  if (!found) return undefined;
  const below = found.path.slice(path.length).join(".");
  return below === "" ? sentence(found.message) : `${below}: ${found.message}`;
}

function sentence(message: string): string {
  return message.charAt(0).toUpperCase() + message.slice(1);
}
