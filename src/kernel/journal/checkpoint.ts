/**
 * Checkpoints: the signed state of a home at one time; a copy kept elsewhere exposes a later roll-back. The signature
 * is over {ledger_seq, head, merkle_root}, and the root covers every open run, each listed once. The caller passes the
 * signature scheme (Ed25519 in practice).
 */
import { type Static, Type } from "typebox";
import { Defect } from "../vocabulary/defect.ts";
import type { Hash } from "../vocabulary/identifiers.ts";
import { Count, closed, HashSchema, RunIdSchema } from "../vocabulary/schema-primitives.ts";
import { canonicalWire } from "../vocabulary/wire-case.ts";
import { merkleRoot } from "./merkle.ts";

export type Sign = (message: string) => string;
export type VerifySignature = (publicKey: string, message: string, signature: string) => boolean;

/** The key a verifier already trusts, from another source than the verified data. */
export interface TrustedKey {
  readonly publicKey: string;
  readonly verifySignature: VerifySignature;
}

const OpenRunSchema = Type.Object({ runId: RunIdSchema, seq: Count, head: HashSchema }, closed);
/** How far the journal of a run that was not sealed had come. */
export type OpenRun = Readonly<Static<typeof OpenRunSchema>>;

export const SignedCheckpointSchema = Type.Object(
  {
    ledgerSeq: Count,
    head: HashSchema,
    merkleRoot: HashSchema,
    openRuns: Type.Unsafe<readonly OpenRun[]>(Type.Array(OpenRunSchema)),
    signature: Type.String({ minLength: 1 }),
  },
  closed,
);
export type SignedCheckpoint = Readonly<Static<typeof SignedCheckpointSchema>>;
export type Checkpoint = Pick<SignedCheckpoint, "ledgerSeq" | "head" | "merkleRoot">;

export interface HomeState {
  readonly ledgerSeq: number;
  readonly ledgerHead: Hash;
  readonly openRuns: readonly OpenRun[];
}

export function checkpointOf({ ledgerSeq, ledgerHead, openRuns }: HomeState): Checkpoint {
  return { ledgerSeq, head: ledgerHead, merkleRoot: merkleRoot(inOrder(openRuns).map(leafOf)) };
}

export function signCheckpoint(state: HomeState, sign: Sign): SignedCheckpoint {
  const checkpoint = checkpointOf(state);
  return { ...checkpoint, openRuns: inOrder(state.openRuns), signature: sign(messageOf(checkpoint)) };
}

export function isSigned(checkpoint: Checkpoint & { readonly signature: string }, key: TrustedKey): boolean {
  return hasVerified(key.verifySignature, key.publicKey, messageOf(checkpoint), checkpoint.signature);
}

export function hasVerified(verify: VerifySignature, publicKey: string, message: string, signature: string): boolean {
  try {
    return verify(publicKey, message, signature);
  } catch {
    return false;
  }
}

/** Does the root cover exactly these open runs, each listed once? */
export function coversItsRuns({ openRuns, merkleRoot: root }: SignedCheckpoint): boolean {
  return isInOrder(openRuns) && merkleRoot(openRuns.map(leafOf)) === root;
}

function messageOf({ ledgerSeq, head, merkleRoot: root }: Checkpoint): string {
  return canonicalWire({ ledgerSeq, head, merkleRoot: root });
}

function leafOf({ runId, seq, head }: OpenRun): Uint8Array {
  return new TextEncoder().encode(canonicalWire({ runId, seq, head }));
}

function inOrder(openRuns: readonly OpenRun[]): readonly OpenRun[] {
  const ordered = openRuns.toSorted((a, b) => (a.runId < b.runId ? -1 : 1));
  if (!isInOrder(ordered)) throw new Defect("checkpoint: a run is listed twice");
  return ordered;
}

function isInOrder(openRuns: readonly OpenRun[]): boolean {
  return openRuns.every((run, index) => {
    const before = openRuns[index - 1];
    return before === undefined || before.runId < run.runId;
  });
}
