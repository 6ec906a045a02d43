// The files of a trial, to download, and whether its network can join an ensemble.
import { formatBytes } from "../../format";
import { CopyButton } from "../../widgets/copy-button";
import { Icon } from "../../widgets/icon";
import { Panel } from "../../widgets/panel";
import { isOver, type Trial } from "./queries";

const KINDS: Record<string, string> = {
  "model.safetensors": "trained network",
  "checkpoint.safetensors": "last checkpoint",
  "predictions.safetensors": "predictions on the shared split",
};

const kindOf = (name: string) => KINDS[name] ?? (name.startsWith("artifacts/") ? "saved by the trial" : undefined);

export function Files({ trial }: { trial: Trial }) {
  return (
    <Panel title="Files" hint={trial.unfit ?? undefined}>
      {trial.artifacts.length === 0 ? (
        <p className="trial-none">{isOver(trial) ? "No files" : "No files yet"}</p>
      ) : (
        <ul className="trial-files">
          {trial.artifacts.map(file => (
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
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}
