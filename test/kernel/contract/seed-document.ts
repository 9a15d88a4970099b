/** The seed's contract, literally (version 2.1): every field of M-4.1 and nothing else. */
import { hashCanonical } from "../../../src/kernel/vocabulary/hash.ts";

const SEED_FIELDS = {
  contract_id: "contract_seed",
  parent_contract_hash: null,
  tool_policy: "required",
  allowed_tools: ["fs.read_text", "http.get"],
  strict_mode: true,
  max_inferences: 4,
  max_tokens_consumed: 8_000,
  max_format_retries: 1,
  step_timeout_ms: 1_000,
  total_timeout_ms: 5_000,
  context_budget: {
    context_window: 4_096,
    reserved_system: 512,
    reserved_synthesis: 300,
    force_synthesis_at_ratio: 0.8,
  },
  tool_output_budget: { max_bytes_per_call: 1_024, truncation_marker: "[cut]", summarizer_model: null },
  adapter_version: "native-tools@1",
  model_profile_id: "native-tools",
  grammar_profile: null,
  grammar: null,
  logits_mask: null,
  token_gate: true,
  speculative_exec: false,
  cycle_forbid: [["fs.read_text", "http.get"]],
};

/** With its own hash, as version 2.1 would have sealed it; `changes` are under the hash. */
export function seedDocument(changes: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  const terms = { ...SEED_FIELDS, ...changes };
  return { ...terms, contract_hash: hashCanonical(terms) };
}
