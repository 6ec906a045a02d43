// The page of one trial.
import { PageHead } from "../widgets/panel";

export function TrialPage({ trialId }: { trialId: number }) {
  return <PageHead title={`Trial ${trialId}`} />;
}
