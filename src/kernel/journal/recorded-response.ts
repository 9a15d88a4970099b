/** O-1.2 on the recorded form of a response: success has no error; failure has an error and no output. */
import type { RecordedResponse } from "./event.ts";

export function isConsistentResponse({ ok, error, outputRef }: RecordedResponse): boolean {
  return ok ? error === null : error !== null && outputRef === null;
}
