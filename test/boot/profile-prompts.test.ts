/** Prompt and protocol match per model profile (M-P2a): a model is told to call tools in the way its adapter reads. */
import { describe, expect, onTestFinished } from "vitest";
import { openHome } from "../../src/boot/home.ts";
import { openSurety } from "../../src/boot/open-surety.ts";
import { systemClock } from "../../src/boot/system-clock.ts";
import { systemRandomness } from "../../src/boot/system-randomness.ts";
import { noApprover } from "../../src/runtime/ports/approver.ts";
import { startAnthropicServer } from "../loopback/anthropic-server.ts";
import { answer, type Reply, startOpenAiServer } from "../loopback/openai-server.ts";
import { verifies } from "../requirements.ts";
import { readOk } from "./config/example-config.ts";
import { temporaryHome } from "./temporary-home.ts";

const BLOCK = "<<<TOOL_CALLS_JSON>>>";
const BLOCK_CALL = `${BLOCK}[{"id":"t1","tool":"fs.list_dir","args":{}}]<<<END_TOOL_CALLS_JSON>>>`;
const NATIVE_CALL = { name: "fs.list_dir", arguments: {} };
const WIRES = { openai_compatible: startOpenAiServer, anthropic: startAnthropicServer } as const;

interface WireRequest {
  readonly tools?: readonly unknown[];
}

/** One run in which the model calls a tool in one of the two ways, then answers. */
async function runUnder(
  profile: string,
  kind: keyof typeof WIRES,
  first: Reply,
  then: Reply = answer({ text: "done" }),
) {
  let asked = 0;
  const start: typeof startOpenAiServer = WIRES[kind] as never;
  const server = await start(() => {
    asked += 1;
    return asked === 1 ? first : then;
  });
  onTestFinished(() => server.close());
  const models = { m: { contextWindow: 32_768, maxOutputTokens: 1024, profile } };
  const providers = { loop: { kind, baseUrl: server.baseUrl, local: true, models } };
  const home = await temporaryHome();
  await openHome(home);
  const surety = await openSurety({
    ...{ home, clock: systemClock, random: systemRandomness, token: null, approver: noApprover },
    config: readOk(JSON.stringify({ models: { default: "loop:m", providers } })),
    readVariable: () => undefined,
    onDefect: (_, error) => {
      throw error;
    },
  });
  onTestFinished(() => surety.close(1000));
  const { assistant } = surety;
  const submitted = await assistant.submit({
    ...{ agentId: "main", message: "list files", sessionId: null, model: null, thinkingMode: null },
    ...{ contract: {}, approvedTools: [], source: "cli", principal: "operator", idempotencyKey: null },
  });
  if (!submitted.ok) throw new Error(submitted.message);
  const { runId } = submitted;
  for await (const _ of (await assistant.watch(runId, 0, new AbortController().signal)) ?? []) {
    // To its end.
  }
  const bundle = await assistant.bundle(runId);
  const { contract } = JSON.parse(bundle.ok ? bundle.text : "{}");
  const text = server.requests[0]?.text ?? "";
  return {
    outcome: (await assistant.run(runId))?.outcome,
    contract: [contract.model_profile_id, contract.adapter_version],
    describesBlock: text.includes(BLOCK),
    wireTools: (JSON.parse(text) as WireRequest).tools?.length ?? 0,
  };
}

describe.each(["openai_compatible", "anthropic"] as const)("over %s", (kind) => {
  verifies(
    "M-P2a/prompt",
    "native-tools offers tools on the wire, describes no block, and reads native calls",
    async () => {
      const run = await runUnder("native-tools", kind, answer({ calls: [NATIVE_CALL] }));
      expect(run).toEqual({
        outcome: "COMPLETED_WITH_TOOLS",
        contract: ["native-tools", "native-tools@2"],
        describesBlock: false,
        wireTools: 15,
      });
    },
  );

  verifies(
    "M-P2a/prompt",
    "marker-json describes the block, offers no tools on the wire, and reads the block",
    async () => {
      const run = await runUnder("marker-json", kind, answer({ text: BLOCK_CALL }));
      expect(run).toEqual({
        outcome: "COMPLETED_WITH_TOOLS",
        contract: ["marker-json", "marker-json@2"],
        describesBlock: true,
        wireTools: 0,
      });
    },
  );
});

verifies(
  "M-P2a/prompt",
  "grammar-json describes the document, offers no tools on the wire, and reads the document",
  async () => {
    const text = '{"calls":[{"tool":"fs.list_dir","args":{}}]}';
    const run = await runUnder(
      "grammar-json",
      "openai_compatible",
      answer({ text }),
      answer({ text: '{"text":"done"}' }),
    );
    expect(run).toEqual({
      outcome: "COMPLETED_WITH_TOOLS",
      contract: ["grammar-json", "grammar-json@1"],
      describesBlock: false,
      wireTools: 0,
    });
  },
);
