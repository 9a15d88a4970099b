/**
 * Tools whose effects are counted outside: each call is told to the ledger of the harness before it is reported.
 *
 * E1. `test.opaque` tells the ledger once an execution and never asks whether it did so before.
 * E2. `test.keyed` gives its idempotency key along; the ledger does the thing once a key.
 * E3. What was done is named by what the model asked for (job and n), so that a second run of a job would show too.
 */
import { request } from "node:http";
import { Type } from "typebox";
import { defineTool, type Tool } from "../../src/adapters/tools/define-tool.ts";
import { ToolFailure } from "../../src/adapters/tools/tool-failure.ts";
import { CLEAN_LABELS } from "../../src/kernel/vocabulary/labels.ts";
import type { IdempotencyClass, RiskClass } from "../../src/kernel/vocabulary/risk.ts";
import type { CallContext } from "../../src/runtime/ports/toolbox.ts";

const parameters = Type.Object(
  { job: Type.Integer({ minimum: 0 }), n: Type.Integer({ minimum: 0 }) },
  { additionalProperties: false },
);

export const EFFECT_TOOLS = { opaque: "test.opaque", keyed: "test.keyed", read: "test.read" } as const;

export function effectTools(ledgerUrl: string): readonly Tool[] {
  return [
    effectTool(ledgerUrl, "opaque", "side_effect", "opaque"),
    effectTool(ledgerUrl, "keyed", "side_effect", "keyed"),
    effectTool(ledgerUrl, "read", "read_only", "read_only"),
  ];
}

function effectTool(
  ledgerUrl: string,
  path: keyof typeof EFFECT_TOOLS,
  risk: RiskClass,
  idempotency: IdempotencyClass,
): Tool {
  const tool = defineTool({
    name: EFFECT_TOOLS[path],
    description: `Tells the ledger of the harness (${path}).`,
    parameters,
    risk,
    idempotency,
    plan: ({ job, n }) => ({ labels: CLEAN_LABELS, shown: `${path} effect ${job}/${n}` }),
    run: async ({ args: { job, n } }, context) => {
      if (!context.mayAct) throw new ToolFailure("policy.denied", "not as it was decided");
      await tell(`${ledgerUrl}/${path}`, { job, n, run: context.runId, key: context.idempotencyKey }, context);
      return { told: `${job}/${n}` };
    },
    summarize: () => `${path} effect`,
  });
  return tool as unknown as Tool;
}

function tell(url: string, body: object, { signal }: CallContext): Promise<void> {
  return new Promise((resolve, reject) => {
    const outgoing = request(
      url,
      { method: "POST", signal, headers: { "content-type": "application/json" } },
      (response) => {
        response.resume();
        response.on("end", () => resolve());
        response.on("error", reject);
      },
    );
    outgoing.on("error", reject);
    outgoing.end(JSON.stringify(body));
  });
}
