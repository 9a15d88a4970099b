/**
 * Calls as an adapter read them become canonical invocations (M-4.4). Journals record ids, so one that could hold prose
 * is replaced like a missing one. Any name goes through: the registry says whether such a tool exists. `rawPayload`
 * never repeats arguments: a second, escaped copy is one that redaction could miss.
 */
import type { ToolInvocation } from "../vocabulary/message.ts";
import { CALL_ID_PATTERN } from "../vocabulary/schema-primitives.ts";
import type { CallsReading } from "./define-adapter.ts";
import type { ProtocolFailure } from "./protocol-failure.ts";

const CALL_ID = new RegExp(CALL_ID_PATTERN);
const MAX_NAME_CHARS = 256;

export interface DraftCall {
  /** Empty or null where the model gave none. */
  readonly id: string | null;
  /** As the model wrote it. */
  readonly writtenName: string;
  readonly name: string;
  readonly arguments: Record<string, unknown>;
}

export function settleCalls(
  drafts: readonly DraftCall[],
  sourceModel: string,
  recoveredBefore: readonly ProtocolFailure[],
): CallsReading {
  const taken = new Set<string>();
  for (const { id, writtenName } of drafts) {
    if (writtenName.length === 0 || writtenName.length > MAX_NAME_CHARS) return failed("protocol.invalid-tool-name");
    if (id === null || id === "") continue;
    if (taken.has(id)) return failed("protocol.duplicate-id");
    taken.add(id);
  }
  const recovered = [...recoveredBefore];
  const calls: ToolInvocation[] = [];
  let next = 1;
  for (const draft of drafts) {
    let id = draft.id ?? "";
    if (!CALL_ID.test(id)) {
      recovered.push(id === "" ? "protocol.missing-id" : "protocol.invalid-id");
      while (taken.has(`call_${next}`)) next += 1;
      id = `call_${next}`;
      taken.add(id);
    }
    const asWritten = id === draft.id && draft.name === draft.writtenName;
    const rawPayload = asWritten ? null : { id: draft.id, name: draft.writtenName };
    calls.push({ id, name: draft.name, arguments: draft.arguments, sourceModel, rawPayload });
  }
  return { ok: true, calls, recovered };
}

function failed(failure: ProtocolFailure): CallsReading {
  return { ok: false, failure };
}
