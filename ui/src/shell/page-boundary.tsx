import { Component, type ReactNode } from "react";
import { Button } from "../parts/button.tsx";
import { Problem } from "../parts/error-note.tsx";
import { sentence } from "../words.ts";

/** A page that fails says so in its place; navigation and other pages go on. */
export class PageBoundary extends Component<{ readonly children: ReactNode }, { readonly failure: string | null }> {
  override state: { readonly failure: string | null } = { failure: null };

  static getDerivedStateFromError(error: unknown) {
    return { failure: error instanceof Error ? error.message : String(error) };
  }

  override render() {
    const { failure } = this.state;
    if (failure === null) return this.props.children;
    return (
      <Problem
        happened={`This page failed: ${sentence(failure)}`}
        advice="Nothing was changed by that."
        code="page.failed"
        actions={<Button onClick={() => location.reload()}>Load it again</Button>}
      />
    );
  }
}
