// The files of a trial, to download and preview, and whether its network can join an ensemble.
import { useState } from "react";
import { formatBytes } from "../../format";
import { Button } from "../../widgets/button";
import { CopyButton } from "../../widgets/copy-button";
import { Icon } from "../../widgets/icon";
import { part } from "../../widgets/lazy-part";
import { Panel } from "../../widgets/panel";
import { isOver, type Trial } from "./queries";

const KINDS: Record<string, string> = {
  "model.safetensors": "trained network",
  "checkpoint.safetensors": "last checkpoint",
  "predictions.safetensors": "predictions on the shared split",
};

const kindOf = (name: string) => KINDS[name] ?? (name.startsWith("artifacts/") ? "saved by the trial" : undefined);

const Preview = part("the preview", () => import("./file-preview").then(module => module.Preview), 3);
const IMAGES = "artifacts/_images/"; // shown in a panel of their own

/** Whether a file is an image that the trial logged over steps. */
export function isImage(file: Trial["artifacts"][number]): boolean {
  return file.name.startsWith(IMAGES);
}

export function Files({ trial }: { trial: Trial }) {
  const [open, setOpen] = useState<string | null>(null);
  const files = trial.artifacts.filter(file => !isImage(file));
  const images = trial.artifacts.length - files.length;
  return (
    <Panel title="Files" hint={trial.unfit ?? undefined}>
      {files.length === 0 ? (
        <p className="trial-none">{noFiles(trial, images)}</p>
      ) : (
        <ul className="trial-files">
          {files.map(file => (
            <li key={file.name}>
              <div>
                {file.removed === null ? (
                  <a href={`/api/v1/trials/${trial.id}/files/${encodeURIComponent(file.name)}`} download>
                    <Icon name="download" size={14} /> <span className="mono">{file.name}</span>
                  </a>
                ) : (
                  <s className="mono">{file.name}</s>
                )}
                <p className="trial-dim">
                  {[kindOf(file.name), `attempt ${file.attempt}`, file.removed].filter(Boolean).join(" · ")}
                </p>
              </div>
              <span className="trial-file-size">{formatBytes(file.size_bytes)}</span>
              <CopyButton text={file.sha256} what={`the SHA-256 of ${file.name}`} />
              {file.removed === null && !(file.name in KINDS) && (
                <Button
                  quiet
                  small
                  title={`Preview ${file.name}`}
                  aria-expanded={open === file.name}
                  onClick={() => setOpen(open === file.name ? null : file.name)}
                >
                  <Icon name="eye" size={15} />
                </Button>
              )}
              {open === file.name && <Preview trialId={trial.id} name={file.name} version={file.sha256} />}
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}

function noFiles(trial: Trial, images: number): string {
  if (images > 0) return "No files besides the images";
  return isOver(trial) ? "No files" : "No files yet";
}
