/**
 * The part of an answer that may be shown while the model writes: inline reasoning → markers → token gate → disclosure
 * guard → redaction.
 *
 * Under a token gate nothing is shown before a validated call was performed (M-F); an attempt cannot perform one, so the
 * gate stays closed for the whole attempt. Deltas carry attempt and offset and are never stored.
 */
import { compose } from "../../kernel/protocol/release/compose.ts";
import { markerStripper } from "../../kernel/protocol/release/marker-stripper.ts";
import { thoughtStripper } from "../../kernel/protocol/release/thought-stripper.ts";
import type { DisclosureGuard } from "../../kernel/redaction/disclosure-guard.ts";
import type { Redactor } from "../../kernel/redaction/redact.ts";

export interface Delta {
  readonly attempt: number;
  readonly offset: number;
  readonly text: string;
}

export interface TextRelease {
  readonly push: (text: string) => void;
  readonly finish: () => void;
}

export function releaseText(
  attempt: number,
  guard: DisclosureGuard,
  redactor: Redactor,
  show: (delta: Delta) => void,
): TextRelease {
  // Set up with the first text: most answers of a run are calls without one.
  let flow: Flow | null = null;
  let offset = 0;
  const release = (text: string): void => {
    if (text === "") return;
    show({ attempt, offset, text });
    offset += text.length;
  };
  return {
    push: (text) => {
      flow ??= begin(guard, redactor);
      const [next, released] = flow.stages.push(flow.state, text);
      flow.state = next;
      release(released);
    },
    finish: () => {
      if (flow !== null) release(flow.stages.finish(flow.state));
    },
  };
}

type Flow = ReturnType<typeof begin>;

function begin(guard: DisclosureGuard, redactor: Redactor) {
  const stages = compose(compose(compose(thoughtStripper, markerStripper), guard), redactor.stream);
  return { stages, state: stages.start() };
}
