/**
 * The plan of one call: parsed once, shown once, hashed, executed (security decision 2). An approval binds its hash.
 * Everything that decides what will happen, or who may allow it, is a field here; the executor takes these values and
 * looks nothing up again. Planning refuses arguments with lone surrogates, so one here is a Defect.
 */
import { hashCanonical } from "../vocabulary/hash.ts";
import type { BodyRef, Hash, SessionId } from "../vocabulary/identifiers.ts";
import type { Labels } from "../vocabulary/labels.ts";

export interface CallPlan {
  readonly tool: string;
  readonly argsRef: BodyRef;
  /** The words of the command as they will be executed; empty where no process is started. */
  readonly argv: readonly string[];
  /** Device and inode in decimal digits: 64-bit inodes do not fit a JSON number. */
  readonly cwd: { readonly path: string; readonly device: string; readonly inode: string } | null;
  /** Hash of the whole environment the process will have; of the empty one where no process is started. */
  readonly environmentHash: Hash;
  /** The real path of what is executed, and the hash of its bytes. */
  readonly executable: { readonly path: string; readonly hash: Hash } | null;
  /** Contents of the scripts among the arguments, in order of appearance. */
  readonly scriptHashes: readonly Hash[];
  /** Every path, host and recipient the call would touch, as the approver is shown them. */
  readonly targets: readonly string[];
  readonly labels: Labels;
  readonly sessionId: SessionId;
  readonly contractHash: Hash;
}

/** The tag keeps a plan's hash apart from the hash of any other record with the same fields. */
export function hashPlan({ sessionId, contractHash, labels, ...call }: CallPlan): Hash {
  const { tool, argsRef, argv, cwd, environmentHash, executable, scriptHashes, targets } = call;
  const known = { tool, argsRef, argv, cwd, environmentHash, executable, scriptHashes, targets };
  const plan = { ...known, labels, sessionId, contractHash };
  return hashCanonical({ kind: "call-plan", version: 1, plan });
}
