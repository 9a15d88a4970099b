/** Our own failures, on stderr: by the id that the journal names. A message may quote content, so only our own are shown. */
import { visibleLine } from "../adapters/terminal/visible-text.ts";
import { Defect } from "../kernel/vocabulary/defect.ts";
import { StoreError } from "../runtime/ports/store.ts";
import type { Streams } from "./streams.ts";

export function defectReporter({ stderr }: Pick<Streams, "stderr">): (errorId: string, error: unknown) => void {
  return (errorId, error) => {
    const name = error instanceof Error ? error.name : typeof error;
    const isOurs = error instanceof Defect || error instanceof StoreError;
    const where = error instanceof Error && !isOurs ? firstFrame(error) : "";
    stderr.write(`error ${errorId}: ${visibleLine(isOurs ? error.message : `${name}${where}`)}\n`);
  };
}

/** The place in our code, which holds no content. */
function firstFrame({ stack = "" }: Error): string {
  const frame = /\n\s+at (.*)/.exec(stack)?.[1];
  return frame === undefined ? "" : ` at ${frame}`;
}
