/**
 * Version 2.1, the seed's literal document. Everything later versions added is derived from the seed's fields, in the
 * narrowest reading, and not hashed: a contract with other values there is not the sealed one.
 */
import type { Static } from "typebox";
import { canonicalJson } from "../vocabulary/canonical-json.ts";
import { type ExecutionContract, SeedContractFields, type SeedContractSchema } from "./contract.ts";
import { DEFAULT_POLICY } from "./default-terms.ts";

export type SeedContract = Static<typeof SeedContractSchema>;

export function fillSeed<Seed extends Omit<SeedContract, "contractHash">>(seed: Seed) {
  return {
    ...seed,
    version: "2.1" as const,
    machineVersion: 1,
    toolsDigest: null,
    model: seed.modelProfileId,
    maxOutputTokens: seed.contextBudget.reservedSynthesis,
    maxSpendMicrousd: null,
    requiredEffects: [],
    policy: { ...DEFAULT_POLICY, allow: seed.allowedTools ?? ["*"] },
    channelClass: "cli_local" as const,
    capabilities: [],
    approvedTools: [],
    depth: 0,
  };
}

export function seedFieldsOf<Terms extends object>(terms: Terms): Partial<Terms> {
  const fields = Object.keys(SeedContractFields) as (keyof Terms)[];
  return Object.fromEntries(fields.map((field) => [field, terms[field]])) as Partial<Terms>;
}

export function isFilledSeed(contract: ExecutionContract): boolean {
  const { contractHash } = contract;
  const filled = fillSeed({ ...seedFieldsOf(contract), contractHash } as SeedContract);
  return canonicalJson(filled) === canonicalJson(contract);
}
