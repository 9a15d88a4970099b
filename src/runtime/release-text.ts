/**
 * What of an answer may be shown while it is being written: markers → token gate → disclosure guard → redaction.
 *
 * R1. Under a token gate nothing is shown before a validated call was performed (M-F): the gate stays closed for the
 *     whole attempt, since an attempt cannot perform a call.
 * R2. Deltas are tagged with attempt and offset; nothing of them is stored.
 */
import { compose } from "../kernel/protocol/release/compose.ts";
import { markerStripper } from "../kernel/protocol/release/marker-stripper.ts";
import type { DisclosureGuard } from "../kernel/redaction/disclosure-guard.ts";
import type { Redactor } from "../kernel/redaction/redact.ts";

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
  const stages = compose(compose(markerStripper, guard), redactor.stream);
  let state = stages.start();
  let offset = 0;
  const release = (text: string): void => {
    if (text === "") return;
    show({ attempt, offset, text });
    offset += text.length;
  };
  return {
    push: (text) => {
      const [next, released] = stages.push(state, text);
      state = next;
      release(released);
    },
    finish: () => release(stages.finish(state)),
  };
}
