// The output of an attempt as it is printed: follow, search, wrap, download.
import { memo, type RefObject, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { formatBytes } from "../../format";
import { useKeys } from "../../keyboard";
import { useQueryState } from "../../url-query-state";
import { Button } from "../../widgets/button";
import { Icon } from "../../widgets/icon";
import { Panel } from "../../widgets/panel";
import { Failure, Loading } from "../../widgets/query-states";
import { chunksOf, linesOf, type Match, matchesOf } from "./log-text";
import type { Trial } from "./queries";
import { MORE_TAIL_BYTES, useLog } from "./use-log";
import "./log.css";

const AT_END_PX = 24;

export function Log({ trial }: { trial: Trial }) {
  const [chosen, choose] = useQueryState("attempt");
  const [chosenRank, chooseRank] = useQueryState("rank");
  const [nowrap, setNowrap] = useQueryState("nowrap");
  const [query, setQuery] = useQueryState("find");
  const attempt = Number(chosen) || trial.attempt;
  const running = attempt === trial.attempt && trial.state === "running";
  const ranks = trial.attempts.find(each => each.number === attempt)?.ranks ?? [];
  const rank = Number(chosenRank) < ranks.length ? Number(chosenRank) : 0;
  const { log, loadMore, retry } = useLog(trial.id, attempt, running, rank);
  const chunks = useMemo(() => chunksOf(linesOf(log.text)), [log.text]);
  const matches = useMemo(() => matchesOf(chunks, query), [chunks, query]);
  const [current, setCurrent] = useState(0);
  const [follow, setFollow] = useState(true);
  const at = matches.length === 0 ? -1 : Math.min(current, matches.length - 1);
  const step = (by: number) => {
    setFollow(false);
    setCurrent((at + by + matches.length) % Math.max(1, matches.length));
  };
  const find = (text: string) => {
    setQuery(text);
    setCurrent(0);
    if (text !== "") setFollow(false);
  };
  const field = useRef<HTMLInputElement>(null);
  useKeys("Log", {
    "/": { does: "find in the log", run: () => field.current?.focus() },
    f: { does: "toggle following the log", run: () => setFollow(!follow) },
  });
  if (trial.attempt === 0) return null;
  return (
    <Panel
      title="Log"
      hint={log.status === "there" ? `${formatBytes(log.next)}${running ? ", growing" : ""}` : undefined}
      actions={
        <>
          {trial.attempts.length > 1 && (
            <select
              aria-label="Attempt"
              value={attempt}
              onChange={event => choose(Number(event.target.value) === trial.attempt ? "" : event.target.value)}
            >
              {trial.attempts.map(each => (
                <option key={each.number} value={each.number}>
                  Attempt {each.number}
                </option>
              ))}
            </select>
          )}
          {ranks.length > 1 && (
            <select
              aria-label="Rank"
              value={rank}
              onChange={event => chooseRank(event.target.value === "0" ? "" : event.target.value)}
            >
              {ranks.map(each => (
                <option key={each.rank} value={each.rank}>
                  Rank {each.rank}
                </option>
              ))}
            </select>
          )}
          <Find field={field} query={query} onFind={find} at={at} count={matches.length} onStep={step} />
          <Button small aria-pressed={nowrap !== "1"} onClick={() => setNowrap(nowrap === "1" ? "" : "1")}>
            Wrap
          </Button>
          <Button small aria-pressed={follow} onClick={() => setFollow(!follow)}>
            Follow
          </Button>
          <a
            className="button button-small"
            href={`/api/v1/trials/${trial.id}/log/whole?attempt=${attempt}${rank > 0 ? `&rank=${rank}` : ""}`}
            download
            aria-label="Download the whole log"
          >
            <Icon name="download" size={14} />
            Download
          </a>
        </>
      }
    >
      {log.status === "loading" && <Loading rows={4} what="Loading the log" />}
      {log.status === "failed" && <Failure error={log.error} onRetry={() => void retry()} />}
      {log.status === "empty" && <p className="trial-none">{running ? "No output yet" : "No output"}</p>}
      {log.status === "there" && (
        <Text
          chunks={chunks}
          match={at < 0 ? null : (matches[at] ?? null)}
          query={query}
          wrap={nowrap !== "1"}
          follow={follow}
          onFollow={setFollow}
          label={`Log of ${rank > 0 ? `rank ${rank} of ` : ""}attempt ${attempt}`}
          earlier={log.earlier}
          onEarlier={log.text.length < MORE_TAIL_BYTES ? () => void loadMore() : undefined}
        />
      )}
    </Panel>
  );
}

type FindProps = {
  field: RefObject<HTMLInputElement | null>;
  query: string;
  onFind: (text: string) => void;
  at: number;
  count: number;
  onStep: (by: number) => void;
};

function Find({ field, query, onFind, at, count, onStep }: FindProps) {
  return (
    <search className="log-find">
      <input
        ref={field}
        type="search"
        aria-label="Find in the log"
        placeholder="Find"
        value={query}
        onChange={event => onFind(event.target.value)}
        onKeyDown={event => event.key === "Enter" && count > 0 && onStep(event.shiftKey ? -1 : 1)}
      />
      {query !== "" && (
        <>
          <span className="log-count" role="status">
            {count === 0 ? "no matches" : `${at + 1} of ${count}`}
          </span>
          <Button small quiet title="Previous match" disabled={count === 0} onClick={() => onStep(-1)}>
            <Icon name="up" size={14} />
          </Button>
          <Button small quiet title="Next match" disabled={count === 0} onClick={() => onStep(1)}>
            <Icon name="down" size={14} />
          </Button>
        </>
      )}
    </search>
  );
}

type TextProps = {
  chunks: string[];
  match: Match | null;
  query: string;
  wrap: boolean;
  follow: boolean;
  onFollow: (follow: boolean) => void;
  label: string;
  earlier: boolean;
  onEarlier: (() => void) | undefined;
};

function Text({ chunks, match, query, wrap, follow, onFollow, label, earlier, onEarlier }: TextProps) {
  const box = useRef<HTMLElement>(null);
  const { onScroll } = useFollowing(box, follow, onFollow, chunks);
  // biome-ignore lint/correctness/useExhaustiveDependencies: scrolls to the current match
  useEffect(() => {
    const mark = box.current?.querySelector<HTMLElement>("mark[data-current]");
    if (!box.current || !mark) return;
    const above = mark.getBoundingClientRect().top - box.current.getBoundingClientRect().top;
    box.current.scrollTop += above - box.current.clientHeight / 2; // scrolls the box only, not the page
  }, [match?.chunk, match?.start, query]);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable areas must be reachable by keyboard
    <section ref={box} tabIndex={0} aria-label={label} className={wrap ? "log log-wrap" : "log"} onScroll={onScroll}>
      {earlier && (
        <p className="log-earlier">
          Earlier lines are not shown.{" "}
          {onEarlier ? (
            <button type="button" className="button button-small" onClick={onEarlier}>
              Show more
            </button>
          ) : (
            "Download the log to see them."
          )}
        </p>
      )}
      {chunks.map((text, number) => (
        <Chunk
          // biome-ignore lint/suspicious/noArrayIndexKey: a log only grows at its end
          key={number}
          text={text}
          query={query}
          current={match?.chunk === number ? match.start : -1}
        />
      ))}
    </section>
  );
}

/** Keeps the end in view while the log grows; scrolling up pauses that, scrolling to the end resumes it. */
function useFollowing(
  box: RefObject<HTMLElement | null>,
  follow: boolean,
  onFollow: (follow: boolean) => void,
  content: unknown,
) {
  const set = useRef(0); // our own scroll position
  // biome-ignore lint/correctness/useExhaustiveDependencies: the log has grown
  useLayoutEffect(() => {
    if (!follow || !box.current) return;
    box.current.scrollTop = box.current.scrollHeight;
    set.current = box.current.scrollTop;
  }, [box, follow, content]);
  const onScroll = () => {
    const element = box.current;
    if (!element || Math.abs(element.scrollTop - set.current) < 2) return;
    set.current = -1;
    const left = element.scrollHeight - element.scrollTop - element.clientHeight;
    if (left < AT_END_PX !== follow) onFollow(left < AT_END_PX);
  };
  return { onScroll };
}

const Chunk = memo(function Chunk({ text, query, current }: { text: string; query: string; current: number }) {
  if (query === "" || !text.toLowerCase().includes(query.toLowerCase())) return <pre className="log-chunk">{text}</pre>;
  const starts = matchesOf([text], query).map(match => match.start);
  const parts = starts.map((start, index) => {
    const end = start + query.length;
    return (
      <span key={start}>
        <mark data-current={start === current || undefined}>{text.slice(start, end)}</mark>
        {text.slice(end, starts[index + 1] ?? text.length)}
      </span>
    );
  });
  return (
    <pre className="log-chunk">
      {text.slice(0, starts[0])}
      {parts}
    </pre>
  );
});
