// The page of one sweep: header, the filter that all views share, and the tabs.
import { ApiError } from "../../api";
import { useFocus } from "../../live";
import { useSweep } from "../../sweep/use-sweep";
import { FilterBar, useFilterError } from "../../trials/filter-bar";
import { ButtonLink } from "../../widgets/button";
import { NotFound } from "../../widgets/not-found";
import { Empty } from "../../widgets/query-states";
import { Tabs } from "../../widgets/tabs";
import { AnalysisTab } from "./analysis-tab";
import { ConfigurationTab } from "./configuration-tab";
import { CurvesTab } from "./curves-tab";
import { DevicesTab } from "./devices-tab";
import { EnsembleTab } from "./ensemble-tab";
import { SweepHeader } from "./header";
import { TableTab } from "./table-tab";

const TABS = {
  table: { name: "Table", body: TableTab },
  curves: { name: "Curves", body: CurvesTab },
  analysis: { name: "Analysis", body: AnalysisTab },
  devices: { name: "Devices", body: DevicesTab },
  ensemble: { name: "Ensemble", body: EnsembleTab },
  configuration: { name: "Configuration", body: ConfigurationTab },
};

export function SweepPage({ sweepId, tab }: { sweepId: number; tab: string }) {
  useFocus({ sweep: sweepId });
  const { error, data } = useSweep(sweepId);
  const isInvalid = useFilterError(sweepId) !== null;
  if (data?.id !== sweepId && error instanceof ApiError && error.status === 404)
    return (
      <NotFound title={`Sweep ${sweepId} not found`} hint="It may belong to another service.">
        <ButtonLink href="/">All sweeps</ButtonLink>
      </NotFound>
    );
  const known = tab in TABS ? (tab as keyof typeof TABS) : "table";
  const Body = TABS[known].body;
  const places = Object.entries(TABS).map(([key, { name }]) => ({ key, name, href: `/sweeps/${sweepId}/${key}` }));
  return (
    <div className={known === "table" ? "sweep-table" : undefined}>
      <SweepHeader sweepId={sweepId} />
      <FilterBar sweepId={sweepId} />
      <Tabs tabs={places} current={known} label="Views of the sweep" />
      {isInvalid && known !== "configuration" ? (
        <Empty title="Invalid filter" hint="See the message below the filter." />
      ) : (
        <Body sweepId={sweepId} />
      )}
    </div>
  );
}
