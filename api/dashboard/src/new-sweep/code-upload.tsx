// Uploads code, as a folder or a zip file, and writes its hash to the sweep file.
import { useRef, useState } from "react";
import { errorFrom } from "../api";
import { formatBytes, formatCount } from "../format";
import { Button } from "../widgets/button";
import type { Draft } from "./sweep-file-draft";
import { quoted, valueAt } from "./yaml-values";
import { type Entry, zipOf } from "./zip";

const EXCLUDED_DIRECTORIES = new Set(["__pycache__", "node_modules", "venv", "podium-data", "wandb"]);
const MAX_BYTES = 64 * 2 ** 20;

/** The path of a file within the selected folder; null if it is excluded, with the same rules as the command line. */
export function pathInFolder(relative: string): string | null {
  const [, ...parts] = relative.split("/");
  const hidden =
    parts.some(part => part.startsWith(".")) || parts.slice(0, -1).some(part => EXCLUDED_DIRECTORIES.has(part));
  return parts.length === 0 || hidden || relative.endsWith(".pyc") ? null : parts.join("/");
}

async function packed(files: readonly File[]): Promise<Blob> {
  const entries: Entry[] = [];
  for (const file of files) {
    const name = pathInFolder(file.webkitRelativePath);
    if (name !== null) entries.push({ name, bytes: new Uint8Array(await file.arrayBuffer()) });
  }
  if (entries.length === 0) throw new Error("This folder contains no code files.");
  return zipOf(entries.sort((one, other) => (one.name < other.name ? -1 : 1)));
}

async function send(content: Blob): Promise<string> {
  if (content.size > MAX_BYTES) {
    throw new Error(
      `The upload is ${formatBytes(content.size)}; the limit is ${formatBytes(MAX_BYTES)}. Exclude data files.`,
    );
  }
  const answer = await fetch("/api/v1/bundles", { method: "POST", body: content });
  const summary = (await answer.json().catch(() => null)) as { sha256?: string } | null;
  if (!answer.ok || !summary?.sha256) throw errorFrom(answer.status, summary);
  return summary.sha256;
}

export function CodeUpload({ draft }: { draft: Draft }) {
  const folder = useRef<HTMLInputElement>(null);
  const zip = useRef<HTMLInputElement>(null);
  const [busy, setBusy] = useState(false);
  const [summary, setSummary] = useState("");
  const [error, setError] = useState("");
  const bundle = valueAt(draft.document, ["program", "bundle"]);
  const upload = async (files: readonly File[], pack: boolean) => {
    if (files.length === 0) return;
    setBusy(true);
    setError("");
    try {
      const content = pack ? await packed(files) : (files[0] as File);
      const sha256 = await send(content);
      await draft.change([
        { path: ["program", "bundle"], value: quoted(sha256) },
        { path: ["program", "code"], value: null },
      ]);
      setSummary(
        pack
          ? `${formatCount(files.length)} ${files.length === 1 ? "file" : "files"}, ${formatBytes(content.size)}`
          : (files[0]?.name ?? ""),
      );
    } catch (error) {
      setError(error instanceof Error ? error.message : String(error));
    }
    setBusy(false);
  };
  const problem = error || draft.problemAt(["program", "bundle"]) || draft.problemAt(["program", "code"]);
  return (
    <div className="field">
      <span className="new-label">Code</span>
      <div className="new-upload">
        <Button command small busy={busy} onClick={() => folder.current?.click()}>
          Upload a folder
        </Button>
        <Button command small busy={busy} onClick={() => zip.current?.click()}>
          Upload a zip
        </Button>
        <span className="field-hint" role="status">
          {typeof bundle === "string" ? `${summary || "uploaded"} · ${bundle.slice(0, 12)}…` : "not uploaded yet"}
        </span>
      </div>
      <input
        ref={element => {
          folder.current = element;
          element?.setAttribute("webkitdirectory", "");
        }}
        type="file"
        hidden
        aria-label="Code folder"
        onChange={event => {
          void upload([...(event.target.files ?? [])], true);
          event.target.value = "";
        }}
      />
      <input
        ref={zip}
        type="file"
        hidden
        accept=".zip,application/zip"
        aria-label="Code zip file"
        onChange={event => {
          void upload([...(event.target.files ?? [])], false);
          event.target.value = "";
        }}
      />
      {problem && (
        <p className="field-problem" role="alert">
          {problem}
        </p>
      )}
      <p className="field-hint">Hidden files, caches and virtual environments are excluded.</p>
    </div>
  );
}
