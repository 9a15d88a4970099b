/**
 * Opening a stored contract document of any version we ever wrote (M-P5.4). The hash a document was sealed with stays
 * its hash, and missing terms of an old version get the narrowest value.
 */
import { schemaCheck } from "#schema-check";
import { jsonProblem } from "../vocabulary/json-problem.ts";
import { fromWire, toWireSchema } from "../vocabulary/wire-case.ts";
import {
  EarlierContractSchema,
  type ExecutionContract,
  ExecutionContractSchema,
  SeedContractSchema,
} from "./contract.ts";
import { isSealIntact, MAX_CONTRACT_DEPTH, sealed } from "./seal-contract.ts";
import { fillSeed, type SeedContract } from "./seed-contract.ts";

export type OpenedContract =
  | { readonly ok: true; readonly contract: ExecutionContract }
  | { readonly ok: false; readonly problem: string };

// Checked in wire form before keys are renamed: an unknown key is a problem of the document, not a Defect.
const seedCheck = schemaCheck(toWireSchema({ ...SeedContractSchema }));
const earlierCheck = schemaCheck(toWireSchema({ ...EarlierContractSchema }));
const contractCheck = schemaCheck(toWireSchema({ ...ExecutionContractSchema }));

export function openContract(document: unknown): OpenedContract {
  if (typeof document !== "object" || document === null) return refuse("not a JSON object");
  const unreadable = jsonProblem(document, MAX_CONTRACT_DEPTH);
  if (unreadable !== null) return refuse(unreadable);
  const opened = Object.hasOwn(document, "version") ? readVersioned(document) : readSeed(document);
  if (!opened.ok) return opened;
  if (!isSealIntact(opened.contract)) return refuse("contract_hash does not match the terms");
  return { ok: true, contract: sealed(opened.contract) };
}

function readVersioned(document: { version?: unknown }): OpenedContract {
  if (document.version === "2.1") return refuse("version 2.1 documents carry no version field");
  const check = document.version === "2.2" ? earlierCheck : contractCheck;
  if (!check.accepts(document)) return refuse(firstError(check.problems(document)));
  return { ok: true, contract: fromWire(document) as ExecutionContract };
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
