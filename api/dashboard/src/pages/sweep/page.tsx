// The page of one sweep: header, the filter that all views share, and the tabs.
import { ApiError } from "../../api";
import { ChartsOf } from "../../charts/export-subject";
import { formatCount } from "../../format";
import { useFocus } from "../../live";
import { TAB_PARTS } from "../../start/lazy-sweep-tabs";
import { useSweep } from "../../sweep/use-sweep";
import { FilterBar, useFilterError } from "../../trials/filter-bar";
import { useTrialCounts } from "../../trials/use-trial-counts";
import { useQueryState } from "../../url-query-state";
import { SavedViews } from "../../views/saved-views";
import { ButtonLink } from "../../widgets/button";
import { part, useLoadedAhead } from "../../widgets/lazy-part";
import { NotFound } from "../../widgets/not-found";
import { Empty } from "../../widgets/query-states";
import { Tabs } from "../../widgets/tabs";
import { SweepHeader, SweepNotices } from "./header";
import { StickyHead } from "./sticky-head";
import { TableTab } from "./table-tab";

const CurvesTab = part("the curves", () => TAB_PARTS.curvesTab().then(module => module.CurvesTab));
const AnalysisTab = part("the analysis", () => TAB_PARTS.analysisTab().then(module => module.AnalysisTab));
const DevicesTab = part("the devices", () => TAB_PARTS.devicesTab().then(module => module.DevicesTab));
const EnsembleTab = part("the ensembles", () => TAB_PARTS.ensembleTab().then(module => module.EnsembleTab));
const ConfigurationTab = part("the configuration", () =>
  TAB_PARTS.configurationTab().then(module => module.ConfigurationTab),
);
const FailuresTab = part("the failures", () => TAB_PARTS.failuresTab().then(module => module.FailuresTab));
const NEXT = [FailuresTab, CurvesTab, AnalysisTab, DevicesTab, EnsembleTab, ConfigurationTab];

const TABS = {
  table: { name: "Table", body: TableTab },
  failures: { name: "Failures", body: FailuresTab },
  curves: { name: "Curves", body: CurvesTab },
  analysis: { name: "Analysis", body: AnalysisTab },
  devices: { name: "Devices", body: DevicesTab },
  ensemble: { name: "Ensemble", body: EnsembleTab },
  configuration: { name: "Configuration", body: ConfigurationTab },
};

export function SweepPage({ sweepId, tab }: { sweepId: number; tab: string }) {
  useFocus({ sweep: sweepId });
  useLoadedAhead(NEXT);
  const { error, data } = useSweep(sweepId);
  const counts = data?.id === sweepId ? data.counts : {};
  const failed = counts.failed ?? 0;
  const [filter] = useQueryState("filter");
  const matching = useTrialCounts(sweepId, filter)?.failed ?? 0;
  const first = failed > 0 && !counts.finished && data?.state === "failed" ? "failures" : "table";
  const known = tab in TABS ? (tab as keyof typeof TABS) : first;
  const isTable = known === "table";
  const isInvalid = useFilterError(sweepId, isTable) !== null;
  if (data?.id !== sweepId && error instanceof ApiError && error.status === 404)
    return (
      <NotFound title={`Sweep ${sweepId} not found`} hint="It may belong to another service.">
        <ButtonLink href="/">All sweeps</ButtonLink>
      </NotFound>
    );
  const Body = TABS[known].body;
  const places = Object.entries(TABS)
    .filter(([key]) => key !== "failures" || failed > 0 || known === key)
    .map(([key, { name }]) => ({
      key,
      name: key === "failures" && matching > 0 ? `${name} ${formatCount(matching)}` : name,
      href: `/sweeps/${sweepId}/${key}`,
    }));
  return (
    <div className={isTable ? "sweep-page sweep-table" : "sweep-page"}>
      <StickyHead>
        <SweepHeader sweepId={sweepId} />
        <FilterBar sweepId={sweepId} isTable={isTable} />
        <div className="views-row">
          <Tabs tabs={places} current={known} label="Views of the sweep" />
          <SavedViews sweepId={sweepId} tab={known} />
        </div>
      </StickyHead>
      <SweepNotices sweepId={sweepId} />
      {isInvalid && known !== "configuration" ? (
        <Empty title="Invalid filter" hint="See the message below the filter." />
      ) : (
        <ChartsOf subject={data?.id === sweepId ? `${data.name}, sweep ${sweepId}` : `sweep ${sweepId}`}>
          <Body sweepId={sweepId} />
        </ChartsOf>
      )}
    </div>
  );
}
