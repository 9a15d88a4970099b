/**
 * Opening a stored contract document of any version we ever wrote (M-P5.4). The hash a document was sealed with stays
 * its hash, and missing terms of an old version get the narrowest value.
 */
import { schemaCheck } from "#schema-check";
import { jsonProblem } from "../vocabulary/json-problem.ts";
import { fromWire, toWireSchema } from "../vocabulary/wire-case.ts";
import { type ExecutionContract, ExecutionContractSchema, SeedContractSchema } from "./contract.ts";
import { isSealIntact, MAX_CONTRACT_DEPTH, sealed } from "./seal-contract.ts";
import { fillSeed, type SeedContract } from "./seed-contract.ts";

export type OpenedContract =
  | { readonly ok: true; readonly contract: ExecutionContract }
  | { readonly ok: false; readonly problem: string };

// Checked in wire form before keys are renamed: an unknown key is a problem of the document, not a Defect.
const seedCheck = schemaCheck(toWireSchema({ ...SeedContractSchema }));
const contractCheck = schemaCheck(toWireSchema({ ...ExecutionContractSchema }));

export function openContract(document: unknown): OpenedContract {
  if (typeof document !== "object" || document === null) return refuse("not a JSON object");
  const unreadable = jsonProblem(document, MAX_CONTRACT_DEPTH);
  if (unreadable !== null) return refuse(unreadable);
  const opened = Object.hasOwn(document, "version") ? readCurrent(document) : readSeed(document);
  if (!opened.ok) return opened;
  if (!isSealIntact(opened.contract)) return refuse("contract_hash does not match the terms");
  return { ok: true, contract: sealed(opened.contract) };
}

function readCurrent(document: object): OpenedContract {
  if (!contractCheck.accepts(document)) return refuse(firstError(contractCheck.problems(document)));
  const contract = fromWire(document) as ExecutionContract;
  if (contract.version !== "2.2") return refuse(`version ${contract.version} documents carry no version field`);
  return { ok: true, contract };
}

function readSeed(document: object): OpenedContract {
  if (!seedCheck.accepts(document)) return refuse(firstError(seedCheck.problems(document)));
  return { ok: true, contract: fillSeed(fromWire(document) as SeedContract) };
}

function firstError(errors: readonly { instancePath: string; message: string }[]): string {
  const [first] = errors;
  return first === undefined ? "not a contract" : `${first.instancePath || "/"} ${first.message}`;
}

function refuse(problem: string): OpenedContract {
  return { ok: false, problem };
}
