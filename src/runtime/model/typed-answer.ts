/**
 * The answer of a run whose contract has an `output_schema` (T-3b): one JSON value that fulfils it, or the answer is rejected
 * and the retry ladder decides. A code fence around it is taken off, as in lenient mode elsewhere; what is kept is the JSON.
 */
import { Check } from "typebox/schema";
import type { ExecutionContract } from "../../kernel/contract/contract.ts";
import type { ProtocolAdapterResult } from "../../kernel/protocol/protocol-adapter.ts";
import type { ProtocolFailure } from "../../kernel/protocol/protocol-failure.ts";
import { parseJson } from "../../kernel/vocabulary/parse-json.ts";

const FENCED = /^\s*```(?:json)?[ \t]*\n([\s\S]*?)\n?[ \t]*```\s*$/;

/** `clean`: as the answer will be kept. A turn that calls tools is no answer yet. */
export function readTypedAnswer(
  { outputSchema = null }: ExecutionContract,
  adapted: ProtocolAdapterResult,
  clean: (text: string) => string,
): ProtocolAdapterResult {
  if (outputSchema === null || adapted.status === "rejected") return adapted;
  const { canonicalMessage } = adapted;
  if (canonicalMessage.toolCalls.length > 0) return adapted;
  const unfenced = FENCED.exec(canonicalMessage.content)?.[1];
  const content = (unfenced ?? canonicalMessage.content).trim();
  const parsed = parseJson(clean(content));
  if (!parsed.ok || !Check(outputSchema, parsed.value)) return rejected(adapted, "protocol.output-schema");
  const message = { ...canonicalMessage, content };
  if (unfenced === undefined) return { ...adapted, canonicalMessage: message };
  return { ...adapted, status: "recovered", failureCode: "protocol.fenced-block", canonicalMessage: message };
}

function rejected(
  { rawHash, adapterVersion }: ProtocolAdapterResult,
  failureCode: ProtocolFailure,
): ProtocolAdapterResult {
  return { rawHash, adapterVersion, status: "rejected", canonicalMessage: null, failureCode, notes: null };
}
