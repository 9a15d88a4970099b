/**
 * What of an answer may be shown while it is being written: markers → token gate → disclosure guard → redaction.
 *
 * R1. Under a token gate nothing is shown before a validated call was performed (M-F): the gate stays closed for the
 *     whole attempt, since an attempt cannot perform a call.
 * R2. Deltas are tagged with attempt and offset; nothing of them is stored.
 * R3. Most answers of a run are calls without a text: for those nothing is set up, and nothing is shown.
 */
import { compose } from "../../kernel/protocol/release/compose.ts";
import { markerStripper } from "../../kernel/protocol/release/marker-stripper.ts";
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
  const stages = compose(compose(markerStripper, guard), redactor.stream);
  return { stages, state: stages.start() };
}
