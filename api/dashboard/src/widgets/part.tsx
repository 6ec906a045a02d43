// Parts of the dashboard that load on first use: pages and heavy tabs, with their loading and error states.
import {
  Component,
  type ComponentType,
  createElement,
  lazy,
  type ReactNode,
  Suspense,
  useEffect,
  useReducer,
} from "react";
import { readStored, removeStored, writeStored } from "../tab-storage";
import { Button } from "./button";
import { Loading } from "./query-states";
import { toast } from "./toast";

const UPGRADED = "Podium has been upgraded. The page was reloaded.";
const ROWS = 8;

/** A part that could not be loaded: `isGone` if the service answers but does not have it. */
class PartError extends Error {
  constructor(
    readonly what: string,
    readonly isGone: boolean,
  ) {
    super(`${what} could not be loaded`);
  }
}

/** A component whose code is fetched when it is first rendered, or ahead of that. */
export type Part<P> = ComponentType<P> & { fetchAhead: () => Promise<unknown> };

/**
 * A component that `load` fetches when it is first rendered; `what` names it in messages. `rows` is the height of the
 * loading state in lines: 0 shows nothing, for what the page may do without.
 */
export function part<P extends object>(what: string, load: () => Promise<ComponentType<P>>, rows = ROWS): Part<P> {
  let Body = lazy(() => fetched(what, load));
  function Loaded(props: P) {
    const [, render] = useReducer((count: number) => count + 1, 0);
    const onRetry = () => {
      Body = lazy(() => fetched(what, load)); // React keeps a failure for good
      render();
    };
    return (
      <PartBoundary onRetry={onRetry}>
        <Suspense fallback={rows > 0 && <Loading rows={rows} what={`Loading ${what}`} />}>
          {createElement(Body as unknown as ComponentType<P>, props)}
        </Suspense>
      </PartBoundary>
    );
  }
  return Object.assign(Loaded, { fetchAhead: load });
}

/** Fetches parts that are probably needed next, once the browser is idle. `parts` is a constant. */
export function useLoadedAhead(parts: readonly Pick<Part<never>, "fetchAhead">[]): void {
  useEffect(() => {
    const fetchAll = () => parts.forEach(each => void each.fetchAhead().catch(() => undefined)); // reported when shown
    const idle = window.requestIdleCallback?.(fetchAll);
    return () => (idle === undefined ? undefined : window.cancelIdleCallback(idle));
  }, [parts]);
}

/** Fetches the part. An upgraded service no longer has it: the page is then reloaded, once for each part. */
async function fetched<P>(what: string, load: () => Promise<ComponentType<P>>): Promise<{ default: ComponentType<P> }> {
  const mark = `reloaded for ${what}`;
  try {
    const component = await load();
    if (readStored(mark) !== null) {
      removeStored(mark);
      toast(UPGRADED);
    }
    return { default: component };
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

type BoundaryProps = { onRetry: () => void; children: ReactNode };

/** Shows a part that could not be loaded; other errors belong to the boundary around it. */
class PartBoundary extends Component<BoundaryProps, { error: Error | null }> {
  override state: { error: Error | null } = { error: null };

  static getDerivedStateFromError(error: Error) {
    return { error };
  }

  override render(): ReactNode {
    const { error } = this.state;
    if (!error) return this.props.children;
    if (!(error instanceof PartError)) throw error;
    const retry = () => {
      this.setState({ error: null });
      this.props.onRetry();
    };
    return (
      <div className="state state-failure" role="alert">
        <h2>Not loaded</h2>
        <p>
          {error.isGone
            ? `The service has no file for ${error.what}, also after the page was reloaded. It may be in the middle of an upgrade, or incompletely installed.`
            : `No response from the service. ${capital(error.what)} loads when it answers again.`}
        </p>
        <div className="state-actions">
          {error.isGone ? (
            <Button onClick={() => window.location.reload()}>Reload the page</Button>
          ) : (
            <Button onClick={retry}>Retry</Button>
          )}
        </div>
      </div>
    );
  }
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
