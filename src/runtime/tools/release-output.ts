/**
 * A tool's output, shown live while the tool works; never stored, the result says how the call ended. Redacted as a result
 * is, at every split, and each stream by itself, so that a secret cannot be split across both.
 */
import type { Redactor } from "../../kernel/redaction/redact.ts";
import type { OutputStream } from "../ports/toolbox.ts";

/** Call ids repeat across turns; `step` tells them apart. */
export interface ToolOutput {
  readonly step: number;
  readonly callId: string;
  readonly stream: OutputStream;
  /** Characters of this stream shown before. */
  readonly offset: number;
  readonly text: string;
}

export interface OutputRelease {
  readonly push: (text: string, stream: OutputStream) => void;
  readonly finish: () => void;
}

export function releaseOutput(
  { step, callId }: Pick<ToolOutput, "step" | "callId">,
  { stream: redaction }: Pick<Redactor, "stream">,
  show: (output: ToolOutput) => void,
): OutputRelease {
  // Most tools print nothing.
  let streams: Map<OutputStream, { state: ReturnType<typeof redaction.start>; offset: number }> | null = null;
  const stateOf = (stream: OutputStream) => {
    streams ??= new Map();
    const known = streams.get(stream) ?? { state: redaction.start(), offset: 0 };
    streams.set(stream, known);
    return known;
  };
  const release = (stream: OutputStream, text: string): void => {
    if (text === "") return;
    const held = stateOf(stream);
    show({ step, callId, stream, offset: held.offset, text });
    held.offset += text.length;
  };
  return {
    push: (text, stream) => {
      const held = stateOf(stream);
      const [next, released] = redaction.push(held.state, text.toWellFormed());
      held.state = next;
      release(stream, released);
    },
    finish: () => {
      for (const [stream, { state }] of streams ?? []) release(stream, redaction.finish(state));
    },
  };
}
