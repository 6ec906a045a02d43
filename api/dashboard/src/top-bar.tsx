// The top bar of every page: navigation, connection status, theme, and logout.
import { useQueryClient } from "@tanstack/react-query";
import { Link, useLocation } from "wouter";
import { BasketLink } from "./basket/basket-link";
import { useLiveState } from "./live";
import { chooseTheme, useTheme } from "./theme";
import { useSession } from "./use-session";
import { Button } from "./widgets/button";
import { Icon } from "./widgets/icon";
import { toast } from "./widgets/toast";
import "./top-bar.css";

const PLACES = [
  { path: "/", name: "Sweeps", within: ["/sweeps", "/new", "/trials"] },
  { path: "/ensembles", name: "Ensembles", within: ["/ensembles"] },
  { path: "/devices", name: "Devices", within: ["/devices"] },
];

export function TopBar({ onHelp, onSearch }: { onHelp: () => void; onSearch: () => void }) {
  const [path] = useLocation();
  const theme = useTheme();
  return (
    <header className="bar">
      <Link href="/" className="bar-brand">
        <img src="/podium.svg" alt="" width={22} height={22} />
        <span>Podium</span>
      </Link>
      <nav className="bar-nav" aria-label="Main">
        {PLACES.map(place => {
          const here = path === place.path || place.within.some(start => path.startsWith(start));
          return (
            <Link key={place.path} href={place.path} className="bar-place" aria-current={here ? "page" : undefined}>
              {place.name}
            </Link>
          );
        })}
      </nav>
      <BasketLink />
      <LiveMark />
      <Button quiet title="Find or do something (Ctrl-K)" className="bar-search" onClick={onSearch}>
        <Icon name="search" />
      </Button>
      <Button quiet title="Keyboard shortcuts (?)" className="bar-keys" onClick={onHelp}>
        <Icon name="keyboard" />
      </Button>
      <Button
        quiet
        title={theme === "dark" ? "Light theme" : "Dark theme"}
        className="bar-theme"
        onClick={() => chooseTheme(theme === "dark" ? "light" : "dark")}
      >
        <Icon name={theme === "dark" ? "sun" : "moon"} />
      </Button>
      <LogOut />
    </header>
  );
}

function LiveMark() {
  const state = useLiveState();
  const text = { live: "Live", connecting: "Connecting", reconnecting: "Reconnecting" }[state];
  return (
    <span
      className={`bar-live bar-live-${state}`}
      role="status"
      title={state === "reconnecting" ? "The service is not responding; retrying every few seconds" : "Live updates on"}
    >
      <span className="bar-dot" aria-hidden="true" />
      <span className="bar-live-text">{text}</span>
    </span>
  );
}

function LogOut() {
  const queries = useQueryClient();
  const [, go] = useLocation();
  const session = useSession();
  const leave = async () => {
    try {
      const answer = await fetch("/api/v1/session", { method: "DELETE" });
      if (!answer.ok && answer.status !== 401) throw new Error();
    } catch {
      toast("Logout failed. Try again.", "failed");
      return;
    }
    queries.clear();
    go("/login");
  };
  return (
    <>
      {session?.role === "viewer" && (
        <span className="bar-role" title="Viewers have read-only access">
          View only
        </span>
      )}
      <Button
        quiet
        title={session ? `Log out ${session.name} (${session.role})` : "Log out"}
        onClick={() => void leave()}
      >
        <Icon name="leave" />
      </Button>
    </>
  );
}
