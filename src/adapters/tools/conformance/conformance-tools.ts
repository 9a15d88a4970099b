/**
 * The tools a conformance corpus calls: each brings about one thing a run must cope with.
 *
 * 1. They read and change nothing outside the call.
 * 2. Those that wait end when they are told to, and never by themselves.
 */
import { ECHO, FLOOD, PING, STALL, WAIT } from "../../../assistant/conformance/tool-offers.ts";
import { USER_LABELS } from "../../../kernel/vocabulary/labels.ts";
import type { CallContext } from "../../../runtime/ports/toolbox.ts";
import { defineTool, type Tool } from "../define-tool.ts";

const HARMLESS = { risk: "read_only", idempotency: "read_only", summarize: () => "conformance" } as const;
/** Soon over, and still far longer than the call itself takes. */
const WAIT_MS = 300;
/** Beyond any step of the corpus. */
const STALL_MS = 600_000;
const FLOOD_LINE = "More than anybody asked for.\n";
const FLOOD_LINES = 2_000;

export function conformanceTools(): readonly Tool[] {
  return [
    defineTool({
      ...ECHO,
      ...HARMLESS,
      plan: () => ({ labels: USER_LABELS, shown: "Give a text back" }),
      run: ({ args }) => Promise.resolve(args.text),
    }),
    defineTool({ ...PING, ...HARMLESS, ...planned("Answer pong"), run: () => Promise.resolve("pong") }),
    defineTool({
      ...FLOOD,
      ...HARMLESS,
      ...planned("Answer with much text"),
      run: () => Promise.resolve(FLOOD_LINE.repeat(FLOOD_LINES)),
    }),
    defineTool({ ...WAIT, ...HARMLESS, ...planned("Wait"), timeoutMs: WAIT_MS, run: waitForTheEnd }),
    defineTool({ ...STALL, ...HARMLESS, ...planned("Wait"), timeoutMs: STALL_MS, run: waitForTheEnd }),
  ];
}

function planned(shown: string) {
  return { plan: () => ({ labels: USER_LABELS, shown }) };
}

function waitForTheEnd(_: unknown, { signal }: CallContext): Promise<never> {
  return new Promise((_resolve, reject) => {
    if (signal.aborted) reject(signal.reason);
    else signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}
