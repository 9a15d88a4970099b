import { useEffect, useState } from "react";
import type { AnswerOf } from "../data/client.ts";
import { askVerifier } from "./verifier.ts";

type Receipt = NonNullable<AnswerOf<"runs.get">["receipt"]>;

/** What this page found of a receipt's signature, in a sentence; null while there is nothing to say. */
export function useSignatureOf(receipt: Receipt | undefined): string | null {
  const [found, setFound] = useState<{ readonly text: string; readonly words: string } | null>(null);
  const text = receipt === undefined ? null : JSON.stringify(receipt);
  useEffect(() => {
    if (text === null) return;
    let isWanted = true;
    judge(text).then(
      (words) => isWanted && setFound({ text, words }),
      // Without an answer nothing is said of the signature.
      () => {},
    );
    return () => {
      isWanted = false;
    };
  }, [text]);
  return found !== null && found.text === text ? found.words : null;
}

async function judge(text: string): Promise<string> {
  const { problem, publicKey } = await askVerifier<"receipt">({ type: "receipt", text });
  if (problem !== null) return `Its receipt does not verify: ${problem}.`;
  return (await homeKey()) === publicKey
    ? "Its receipt is signed with this home's key."
    : "Its receipt is signed with a key that is not this home's.";
}

async function homeKey(): Promise<string> {
  const answered = await fetch(`/v1/identity?nonce=${freshNonce()}`, { credentials: "same-origin", redirect: "error" });
  return ((await answered.json()) as { public_key: string }).public_key;
}

function freshNonce(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(32));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
