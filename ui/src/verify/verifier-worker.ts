/** The verifier, in a thread of its own: it is handed what the gateway answered, and says what it found. */
import { verifyReceipt } from "../../../src/kernel/journal/signed-receipt.ts";
import { type Checked, type EntriesPage, type EntryDetails, RunVerification } from "./run-verification.ts";
import { verifySignature } from "./signatures.ts";

export type Asked =
  /** `key`: one reader's verification; two may look at the same run. */
  | {
      readonly type: "page";
      readonly key: string;
      readonly runId: string;
      readonly after: number;
      readonly text: string;
    }
  | { readonly type: "details"; readonly key: string; readonly seq: number }
  | { readonly type: "receipt"; readonly text: string }
  | { readonly type: "forget"; readonly key: string };

export interface Told {
  readonly page: Checked;
  readonly details: EntryDetails | null;
  /** Null: signed by the key it names. */
  readonly receipt: { readonly problem: string | null; readonly publicKey: string | null };
  readonly forget: null;
}

export interface Request {
  readonly id: number;
  readonly asked: Asked;
}

export type Reply =
  | { readonly id: number; readonly ok: true; readonly value: Told[keyof Told] }
  | { readonly id: number; readonly ok: false; readonly message: string };

const open = new Map<string, RunVerification>();

addEventListener("message", ({ data }: MessageEvent<Request>) => {
  const { id, asked } = data;
  let reply: Reply;
  try {
    reply = { id, ok: true, value: answer(asked) };
  } catch (error) {
    reply = { id, ok: false, message: error instanceof Error ? error.message : String(error) };
  }
  postMessage(reply);
});

function answer(asked: Asked): Told[keyof Told] {
  switch (asked.type) {
    case "page": {
      const known = asked.after === 0 ? undefined : open.get(asked.key);
      const run = known ?? new RunVerification(asked.runId);
      open.set(asked.key, run);
      return run.add(JSON.parse(asked.text) as EntriesPage, () => performance.now());
    }
    case "details":
      return open.get(asked.key)?.details(asked.seq) ?? null;
    case "receipt": {
      const verified = verifyReceipt(asked.text, { verifySignature });
      return verified.ok
        ? { problem: null, publicKey: verified.publicKey }
        : { problem: verified.problem, publicKey: null };
    }
    case "forget":
      open.delete(asked.key);
      return null;
  }
}
