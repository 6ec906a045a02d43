// The page "New sweep": the sweep file as form and as text side by side, with a preview.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useId, useRef, useState } from "react";
import { useLocation } from "wouter";
import { api, done } from "../api";
import { Editor, goToLine } from "../new-sweep/editor";
import { DEFAULT_EXAMPLE, EXAMPLES } from "../new-sweep/examples";
import { SweepForm } from "../new-sweep/form";
import { SweepPreview } from "../new-sweep/parse-result";
import { clearStoredText, storedText, storeText, useDraft } from "../new-sweep/sweep-file-draft";
import { withSeeds } from "../new-sweep/sweep-file-from-trials";
import { keys } from "../query-keys";
import { setQuery, useQueryState } from "../url-query-state";
import { useIsViewer } from "../use-session";
import { Button } from "../widgets/button";
import { Confirm } from "../widgets/dialog";
import { PageHead } from "../widgets/page-head";
import { Panel } from "../widgets/panel";
import { Empty, Failure, Loading } from "../widgets/query-states";
import { toast } from "../widgets/toast";
import "../new-sweep/new-sweep.css";

export function NewSweepPage() {
  const [from] = useQueryState("from");
  const [seeds] = useQueryState("seeds");
  useEffect(() => {
    document.title = "New sweep · Podium";
  }, []);
  if (useIsViewer()) {
    return (
      <Empty
        title="Viewers cannot submit"
        hint="An admin can create a token that allows it: podium token create NAME --role submitter"
        isPage
      />
    );
  }
  if (/^\d+$/.test(from)) return <FromSweep key={`${from} ${seeds}`} sweepId={Number(from)} seeds={seeds} />;
  return <Writing file={DEFAULT_EXAMPLE} />;
}

/** `seeds`: a filter of its trials, whose configurations become seed configurations. */
function FromSweep({ sweepId, seeds }: { sweepId: number; seeds: string }) {
  const query = useQuery({
    queryKey: keys.sweep(sweepId, "file", seeds),
    queryFn: async ({ signal }) => {
      const params = { path: { sweep_id: sweepId } };
      const file = done(api.GET("/api/v1/sweeps/{sweep_id}/file", { params, parseAs: "text", signal }));
      return withSeeds((await file) as unknown as string, sweepId, seeds, signal);
    },
    staleTime: Number.POSITIVE_INFINITY,
  });
  if (query.data !== undefined) return <Writing file={query.data} from={{ sweepId, seeds }} />;
  if (query.isError) return <Failure error={query.error} isPage onRetry={() => void query.refetch()} />;
  return <Loading rows={8} what="Loading the sweep file" />;
}

type From = { sweepId: number; seeds: string };

function Writing({ file, from }: { file: string; from?: From }) {
  const origin = from && (from.seeds ? `${from.sweepId} seeds ${from.seeds}` : String(from.sweepId));
  const [first] = useState(() => storedText(origin) ?? file);
  const draft = useDraft(first, origin);
  const area = useRef<HTMLTextAreaElement>(null);
  const previewId = useId();
  const submit = useSubmit(draft.completeText, origin);
  const problems = draft.read?.problems ?? [];
  // Clicking the button blurs the field: text that is not validated yet is validated on submission.
  const ready = !(draft.fresh && problems.length > 0) && !submit.busy;
  const invalidLines = new Set(draft.fresh ? problems.flatMap(({ line }) => (line === null ? [] : [line])) : []);
  return (
    <>
      <PageHead title="New sweep" above={from && aboveText(from)}>
        <span className="new-ready" role="status">
          {readiness(draft.fresh, problems.length)}
        </span>
        <Button command primary disabled={!ready} busy={submit.busy} onClick={() => void submit.run()}>
          Start the sweep
        </Button>
      </PageHead>
      <StartingPoints text={draft.text} file={file} from={from?.sweepId} origin={origin} setText={draft.setText} />
      <div className="new-sides">
        <SweepForm draft={draft} />
        <div className="new-right">
          <Panel title="Sweep file" hint="YAML. The form and the text stay in sync.">
            <Editor
              text={draft.text}
              onChange={draft.setText}
              onSubmit={() => ready && void submit.run()}
              invalidLines={invalidLines}
              area={area}
              describedBy={previewId}
            />
            {draft.read?.wandb && (
              <p className="new-wandb">
                This file uses W&B syntax. Editing the form, for example uploading code, converts it to Podium's syntax.
              </p>
            )}
          </Panel>
          <SweepPreview
            draft={draft}
            id={previewId}
            onGo={({ line, column }) => goToLine(area.current, line ?? 1, column)}
          />
        </div>
      </div>
    </>
  );
}

function aboveText({ sweepId, seeds }: From): string {
  const what = `Copied from sweep ${sweepId}`;
  return seeds ? `${what}, with the configurations of its trials ${seeds} as seed configurations` : what;
}

function readiness(fresh: boolean, problems: number): string {
  if (!fresh) return "checking";
  if (problems === 0) return "ready to start";
  return problems === 1 ? "1 problem" : `${problems} problems`;
}

function useSubmit(completeText: () => Promise<string>, from?: string) {
  const [busy, setBusy] = useState(false);
  const [, go] = useLocation();
  const queries = useQueryClient();
  const key = useRef({ text: "", key: "" });
  const run = async () => {
    setBusy(true);
    try {
      const text = await completeText();
      if (key.current.text !== text) key.current = { text, key: randomKey() };
      const headers = { "idempotency-key": key.current.key };
      const sweep = await done(api.POST("/api/v1/sweep-files/submit", { body: { text }, params: { header: headers } }));
      clearStoredText(from);
      void queries.invalidateQueries({ queryKey: keys.sweeps() });
      toast(`Sweep ${sweep.id} submitted`);
      go(`/sweeps/${sweep.id}`);
    } catch (error) {
      toast(error instanceof Error ? error.message : String(error), "failed");
      setBusy(false);
    }
  };
  return { busy, run };
}

/** The idempotency key of a submission. */
function randomKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), byte => byte.toString(16).padStart(2, "0")).join("");
}

type StartingPointsProps = {
  text: string;
  file: string;
  from?: number;
  origin?: string;
  setText: (text: string) => void;
};

function StartingPoints({ text, file, from, origin, setText }: StartingPointsProps) {
  const [pendingText, setPendingText] = useState<string | null>(null);
  const choices = from === undefined ? EXAMPLES : [{ name: `Sweep ${from} (original)`, text: file }, ...EXAMPLES];
  const isModified = text.trim() !== "" && !choices.some(choice => choice.text === text);
  const replaceText = async (next: string) => {
    if (from === undefined || next === file) {
      setText(next);
      return;
    }
    clearStoredText(origin);
    storeText(next);
    setQuery({ from: "", seeds: "" });
  };
  const choose = (next: string) => (isModified ? setPendingText(next) : void replaceText(next));
  return (
    <nav className="new-begin" aria-label="Start from">
      <span>Start from</span>
      {choices.map(choice => (
        <button
          key={choice.name}
          type="button"
          className="new-example"
          aria-pressed={text === choice.text}
          onClick={() => choose(choice.text)}
        >
          {choice.name}
        </button>
      ))}
      {pendingText !== null && (
        <Confirm
          title="Discard changes?"
          action="Discard changes"
          run={() => replaceText(pendingText)}
          onClose={() => setPendingText(null)}
        >
          <p>Your changes to this sweep file will be lost.</p>
        </Confirm>
      )}
    </nav>
  );
}
