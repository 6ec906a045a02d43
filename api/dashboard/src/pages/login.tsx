// The page "Log in".
import { PageHead } from "../widgets/panel";

export function LoginPage() {
  return <PageHead title="Log in" />;
}
