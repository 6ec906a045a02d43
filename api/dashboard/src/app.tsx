// The frame of every page: top bar, routes, live updates, keyboard help, and the error boundary.
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { Route, Switch, useLocation } from "wouter";
import { ApiError } from "./api";
import { ConnectionBanner, useConnection } from "./connection";
import { KeyboardHelp, useKeyboard, useKeys } from "./keyboard";
import { LiveProvider } from "./live";
import { DevicesPage } from "./pages/devices";
import { EnsemblePage } from "./pages/ensemble";
import { EnsemblesPage } from "./pages/ensembles";
import { LoginPage } from "./pages/login";
import { NewSweepPage } from "./pages/new-sweep";
import { ComparePage } from "./pages/sweep/compare-page";
import { SweepPage } from "./pages/sweep/page";
import { SweepsPage } from "./pages/sweeps";
import { TrialPage } from "./pages/trial";
import { TopBar } from "./top-bar";
import { ButtonLink } from "./widgets/button";
import { ErrorBoundary } from "./widgets/error-boundary";
import { NotFound } from "./widgets/not-found";
import { Toasts } from "./widgets/toast";
import "./app.css";

const RETRIES = 2;
const TAB = /(?<=^\/sweeps\/\d+)\/(?!compare)\w+$/; // all tabs belong to one page

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 2_000,
      refetchOnWindowFocus: true,
      placeholderData: (before: unknown) => before,
      retry: (failures, error) =>
        !(error instanceof ApiError && error.status >= 400 && error.status < 500) && failures < RETRIES,
    },
  },
});

export function App() {
  return (
    <QueryClientProvider client={queries}>
      <ErrorBoundary>
        <Switch>
          <Route path="/login" component={LoginPage} />
          <Route>
            <LiveProvider>
              <Frame />
            </LiveProvider>
          </Route>
        </Switch>
      </ErrorBoundary>
      <Toasts />
    </QueryClientProvider>
  );
}

function Frame() {
  const [help, setHelp] = useState(false);
  const [path, go] = useLocation();
  const { lost } = useConnection();
  useKeyboard();
  useKeys("Global", {
    "?": { does: "show keyboard shortcuts", run: () => setHelp(true) },
    "g s": { does: "go to the sweeps", run: () => go("/") },
    "g n": { does: "create a sweep", run: () => go("/new") },
    "g e": { does: "go to the ensembles", run: () => go("/ensembles") },
    "g d": { does: "go to the devices", run: () => go("/devices") },
  });
  return (
    <>
      <a className="app-skip" href="#page">
        Skip to content
      </a>
      <TopBar onHelp={() => setHelp(true)} />
      <ConnectionBanner />
      <main id="page" className={lost ? "app-page app-lost" : "app-page"} tabIndex={-1}>
        <ErrorBoundary key={path.replace(TAB, "")}>
          <Switch>
            <Route path="/" component={SweepsPage} />
            <Route path="/new" component={NewSweepPage} />
            <Route path="/sweeps/:id/compare">
              {({ id }) => numbered(id, sweepId => <ComparePage sweepId={sweepId} />)}
            </Route>
            <Route path="/sweeps/:id/:tab?">
              {({ id, tab }) => numbered(id, sweepId => <SweepPage sweepId={sweepId} tab={tab ?? "table"} />)}
            </Route>
            <Route path="/trials/:id">{({ id }) => numbered(id, trialId => <TrialPage trialId={trialId} />)}</Route>
            <Route path="/ensembles" component={EnsemblesPage} />
            <Route path="/ensembles/:id">
              {({ id }) => numbered(id, ensembleId => <EnsemblePage ensembleId={ensembleId} />)}
            </Route>
            <Route path="/devices" component={DevicesPage} />
            <Route>
              <NoSuchPage />
            </Route>
          </Switch>
        </ErrorBoundary>
      </main>
      {help && <KeyboardHelp onClose={() => setHelp(false)} />}
    </>
  );
}

function numbered(id: string, page: (id: number) => ReactNode): ReactNode {
  return /^[1-9]\d{0,14}$/.test(id) ? page(Number(id)) : <NoSuchPage />;
}

function NoSuchPage() {
  return (
    <NotFound title="Page not found" hint="The address may be incomplete, or belong to another version of Podium.">
      <ButtonLink href="/">All sweeps</ButtonLink>
    </NotFound>
  );
}
