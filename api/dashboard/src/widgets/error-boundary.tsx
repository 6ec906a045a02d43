// Error boundary: a page that fails does not break the rest.
import { Component, type ReactNode } from "react";
import { Failure } from "./query-states";

type State = { error: Error | null };

export class ErrorBoundary extends Component<{ children: ReactNode }, State> {
  override state: State = { error: null };

  static getDerivedStateFromError(error: Error): State {
    return { error };
  }

  override render(): ReactNode {
    if (!this.state.error) return this.props.children;
    return <Failure error={this.state.error} isPage onRetry={() => this.setState({ error: null })} />;
  }
}
