// Parts of the dashboard that load on first use: pages and heavy tabs, with their loading and error states.
import { useQueryClient } from "@tanstack/react-query";
import { type ComponentType, createElement, useEffect, useState } from "react";
import { readStored, removeStored, writeStored } from "../tab-storage";
import { Button } from "./button";
import { Loading } from "./query-states";
import { toast } from "./toast";

const UPGRADED = "Podium has been upgraded. The page was reloaded.";
const ROWS = 8;
const [LOOK_MS, QUIET] = [200, 2]; // times in a row without a request in flight: then the page has its data
const SHOWN_MS = 500; // later, also a busy machine shows them

/** A part that could not be loaded: `isGone` if the service answers but does not have it. */
class PartError extends Error {
  constructor(
    readonly what: string,
    readonly isGone: boolean,
  ) {
    super(`${what} could not be loaded`);
  }
}

type Load<P> = () => Promise<ComponentType<P>>;

/** A component whose code is fetched when it is first rendered, or ahead of that. */
export type Part<P> = ComponentType<P> & { fetchAhead: () => Promise<unknown> };

/**
 * A component that `load` fetches when it is first rendered; `what` names it in messages. `rows` is the height of the
 * loading state in lines: 0 shows nothing, for what the page may do without. `isPage`: the part is a whole page.
 *
 * Not `lazy` of React, which shows the loading state for a moment also of a part that has been loaded ahead, and then
 * for at least 300 ms.
 */
export function part<P extends object>(what: string, load: Load<P>, rows = ROWS, isPage = false): Part<P> {
  let known: ComponentType<P> | undefined;
  const fetchAhead = async () => {
    known = await load();
  };
  function Loaded(props: P) {
    const [state, setState] = useState<Progress<P>>({ body: known });
    const { body, error } = state;
    useEffect(() => {
      if (body || error) return;
      let isShown = true;
      const show = (next: Progress<P>) => isShown && setState(next);
      fetched(what, load).then(
        found => {
          known = found;
          show({ body: found });
        },
        failure => show({ error: failure }),
      );
      return () => {
        isShown = false;
      };
    }, [body, error]);
    if (body) return createElement(body, props);
    if (error) return <NotLoaded error={error} isPage={isPage} onRetry={() => setState({})} />;
    return rows > 0 && <Loading rows={rows} what={`Loading ${what}`} />;
  }
  return Object.assign(Loaded, { fetchAhead });
}

/** A part that is a whole page. */
export function pagePart<P extends object>(what: string, load: Load<P>): Part<P> {
  return part(what, load, ROWS, true);
}

type Progress<P> = { body?: ComponentType<P>; error?: PartError };

/**
 * Fetches parts that are probably needed next, once the page shows its data: one after the other, each when the browser
 * is idle. `parts` is a constant.
 */
export function useLoadedAhead(parts: readonly Pick<Part<never>, "fetchAhead">[]): void {
  const queries = useQueryClient();
  useEffect(() => {
    const rest = [...parts];
    const fetchNext = () => {
      const next = rest.shift()?.fetchAhead();
      void next?.catch(() => undefined).then(plan); // a failure is reported when the part is shown
    };
    let isOver = false;
    let later: ReturnType<typeof setTimeout> | undefined;
    let idle: number | undefined;
    const plan = () => {
      if (!isOver && rest.length > 0) idle = window.requestIdleCallback?.(fetchNext);
    };
    let quiet = 0;
    const timer = setInterval(() => {
      quiet = queries.isFetching() > 0 ? 0 : quiet + 1;
      if (quiet < QUIET) return;
      clearInterval(timer);
      later = setTimeout(plan, SHOWN_MS);
    }, LOOK_MS);
    return () => {
      isOver = true;
      clearInterval(timer);
      clearTimeout(later);
      if (idle !== undefined) window.cancelIdleCallback(idle);
    };
  }, [parts, queries]);
}

/** Fetches the part. An upgraded service no longer has it: the page is then reloaded, once for each part. */
async function fetched<P>(what: string, load: Load<P>): Promise<ComponentType<P>> {
  const mark = `reloaded for ${what}`;
  try {
    const component = await load();
    if (readStored(mark) !== null) {
      removeStored(mark);
      toast(UPGRADED);
    }
    return component;
  } catch {
    const isAnswered = await fetch("/index.html", { method: "HEAD", cache: "no-store" }).then(
      answer => answer.ok,
      () => false,
    );
    if (!isAnswered) throw new PartError(what, false);
    if (readStored(mark) !== null) throw new PartError(what, true);
    writeStored(mark, "1");
    window.location.reload();
    return new Promise(() => {}); // the loading state stays until the browser has reloaded the page
  }
}

type NotLoadedProps = { error: PartError; isPage: boolean; onRetry: () => void };

function NotLoaded({ error, isPage, onRetry }: NotLoadedProps) {
  const Heading = isPage ? "h1" : "h2";
  return (
    <div className="state state-failure" role="alert">
      <Heading>Not loaded</Heading>
      <p>
        {error.isGone
          ? `The service has no file for ${error.what}, also after the page was reloaded. It may be in the middle of an upgrade, or incompletely installed.`
          : `No response from the service. ${capital(error.what)} loads when it answers again.`}
      </p>
      <div className="state-actions">
        {error.isGone ? (
          <Button onClick={() => window.location.reload()}>Reload the page</Button>
        ) : (
          <Button onClick={onRetry}>Retry</Button>
        )}
      </div>
    </div>
  );
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
