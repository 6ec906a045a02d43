// The frame of every page: top bar, routes, live updates, keyboard help, and the error boundary.
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { Route, Switch, useLocation } from "wouter";
import { ApiError } from "./api";
import { basket, compareHref } from "./basket/comparison-basket";
import { ConnectionBanner, useConnection } from "./connection-status";
import { KeyboardHelp, useKeyboard, useKeys } from "./keyboard";
import { LiveProvider } from "./live";
import { BrowserNotifications } from "./notifications/browser-notifications";
import { LoginPage } from "./pages/login";
import { SweepsPage } from "./pages/sweeps";
import { usePalette } from "./palette/use-palette";
import { PARTS } from "./start/parts";
import { TopBar } from "./top-bar";
import { useScrollToTop } from "./use-scroll-to-top";
import { ButtonLink } from "./widgets/button";
import { ErrorBoundary } from "./widgets/error-boundary";
import { pagePart, useLoadedAhead } from "./widgets/lazy-part";
import { NotFound } from "./widgets/not-found";
import { Toasts } from "./widgets/toast";
import "./app.css";

const RETRIES = 2;
const TAB = /(?<=^\/sweeps\/\d+)\/(?!compare)\w+$/; // all tabs belong to one page

// The first page and the login are in the entry; every other page is a part that loads on first use. What an address
// needs before the libraries have loaded is in start/address.ts.
const SweepPage = pagePart("the sweep", () => PARTS.sweep().then(module => module.SweepPage));
const TrialPage = pagePart("the trial", () => PARTS.trial().then(module => module.TrialPage));
const TrialRedirect = pagePart("the trial", () => PARTS.trial().then(module => module.TrialRedirect));
const ComparePage = pagePart("the comparison", () => PARTS.compare().then(module => module.ComparePage));
const CompareSweepsPage = pagePart("the comparison of sweeps", () =>
  PARTS.compareSweeps().then(module => module.ComparePage),
);
const NewSweepPage = pagePart("the form", () => PARTS.newSweep().then(module => module.NewSweepPage));
const EnsemblesPage = pagePart("the ensembles", () => PARTS.ensembles().then(module => module.EnsemblesPage));
const EnsemblePage = pagePart("the ensemble", () => PARTS.ensemble().then(module => module.EnsemblePage));
const DevicesPage = pagePart("the devices", () => PARTS.devices().then(module => module.DevicesPage));
const NEXT = [SweepPage];

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
  useScrollToTop(path);
  useLoadedAhead(NEXT);
  const { open: openPalette, palette } = usePalette();
  useKeys("Global", {
    "?": { does: "show keyboard shortcuts", run: () => setHelp(true) },
    "g s": { does: "go to the sweeps", run: () => go("/") },
    "g n": { does: "create a sweep", run: () => go("/new") },
    "g e": { does: "go to the ensembles", run: () => go("/ensembles") },
    "g d": { does: "go to the devices", run: () => go("/devices") },
    "g c": { does: "go to the comparison", run: () => go(compareHref(basket())) },
  });
  return (
    <>
      <a className="app-skip" href="#page">
        Skip to content
      </a>
      <TopBar onHelp={() => setHelp(true)} onSearch={openPalette} />
      <ConnectionBanner />
      <BrowserNotifications />
      <main id="page" className={lost ? "app-page app-lost" : "app-page"} tabIndex={-1}>
        <ErrorBoundary key={path.replace(TAB, "")}>
          <Switch>
            <Route path="/" component={SweepsPage} />
            <Route path="/new" component={NewSweepPage} />
            <Route path="/sweeps/:id/compare">
              {({ id }) => numbered(id, sweepId => <ComparePage sweepId={sweepId} />)}
            </Route>
            <Route path="/sweeps/:id/:tab?">
              {({ id, tab }) => numbered(id, sweepId => <SweepPage sweepId={sweepId} tab={tab ?? ""} />)}
            </Route>
            <Route path="/sweeps/:id/trials/:number">
              {({ id, number }) =>
                numbered(id, sweepId => (
                  <>
                    {/^\d{1,15}$/.test(number) ? (
                      <TrialPage sweepId={sweepId} number={Number(number)} />
                    ) : (
                      <NoSuchPage />
                    )}
                  </>
                ))
              }
            </Route>
            <Route path="/trials/:id">{({ id }) => numbered(id, trialId => <TrialRedirect trialId={trialId} />)}</Route>
            <Route path="/ensembles" component={EnsemblesPage} />
            <Route path="/ensembles/:id">
              {({ id }) => numbered(id, ensembleId => <EnsemblePage ensembleId={ensembleId} />)}
            </Route>
            <Route path="/compare">
              <CompareSweepsPage />
            </Route>
            <Route path="/devices" component={DevicesPage} />
            <Route>
              <NoSuchPage />
            </Route>
          </Switch>
        </ErrorBoundary>
      </main>
      {palette}
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
