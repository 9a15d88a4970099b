/**
 * The tools a conformance corpus calls: each causes one situation a run must handle. They read and change nothing outside
 * the call; those that wait end only when they are aborted.
 */
import { ECHO, FLOOD, PING, STALL, WAIT } from "../../../assistant/conformance/tool-offers.ts";
import { USER_LABELS } from "../../../kernel/vocabulary/labels.ts";
import type { CallContext } from "../../../runtime/ports/toolbox.ts";
import { defineTool, type Tool } from "../define-tool.ts";

const HARMLESS = { risk: "read_only", idempotency: "read_only", summarize: () => "conformance" } as const;
/** Short, but far longer than the call itself takes. */
const WAIT_MS = 300;
/** Longer than any step of the corpus. */
const STALL_MS = 600_000;
const FLOOD_TEXT = "Far more text than the result budget.\n".repeat(2_000);

export function conformanceTools(): readonly Tool[] {
  return [
    defineTool({ ...ECHO, ...HARMLESS, ...planned("Return a text"), run: ({ args }) => args.text }),
    defineTool({ ...PING, ...HARMLESS, ...planned("Answer pong"), run: () => "pong" }),
    defineTool({ ...FLOOD, ...HARMLESS, ...planned("Answer with a long text"), run: () => FLOOD_TEXT }),
    defineTool({ ...WAIT, ...HARMLESS, ...planned("Wait"), timeoutMs: WAIT_MS, run: waitForAbort }),
    defineTool({ ...STALL, ...HARMLESS, ...planned("Wait"), timeoutMs: STALL_MS, run: waitForAbort }),
  ];
}

function planned(shown: string) {
  return { plan: () => ({ labels: USER_LABELS, shown }) };
}

function waitForAbort(_: unknown, { signal }: CallContext): Promise<never> {
  return new Promise((_resolve, reject) => {
    if (signal.aborted) reject(signal.reason);
    else signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}
