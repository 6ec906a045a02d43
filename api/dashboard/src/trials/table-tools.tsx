// The toolbar of the trial table: go to a trial, download.
import { type FormEvent, useState } from "react";
import { Icon } from "../widgets/icon";
import { Menu } from "../widgets/menu";

export function GoTo({ onGo }: { onGo: (number: number) => void }) {
  const [text, setText] = useState("");
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const number = Number(text.replace(/^#/, ""));
    if (text.trim() !== "" && Number.isInteger(number) && number >= 0) onGo(number);
  };
  return (
    <form className="table-goto" onSubmit={submit}>
      <input
        aria-label="Go to trial number"
        placeholder="Go to trial"
        inputMode="numeric"
        pattern="#?[0-9]{1,9}"
        title="Trial number; press Enter to go"
        value={text}
        onChange={event => setText(event.target.value)}
      />
    </form>
  );
}

const FORMATS = [
  ["csv", "CSV"],
  ["jsonl", "JSON lines, with curves"],
  ["parquet", "Parquet"],
] as const;

export function DownloadMenu({ sweepId, filter }: { sweepId: number; filter: string }) {
  const query = filter ? `?${new URLSearchParams({ filter })}` : "";
  return (
    <Menu
      label={
        <>
          <Icon name="download" size={15} /> Download
        </>
      }
    >
      {FORMATS.map(([suffix, name]) => (
        <a
          key={suffix}
          className="button button-quiet"
          href={`/api/v1/sweeps/${sweepId}/export.${suffix}${query}`}
          download
        >
          {name}
        </a>
      ))}
      {filter && <p className="table-download">Trials that match the filter.</p>}
    </Menu>
  );
}
