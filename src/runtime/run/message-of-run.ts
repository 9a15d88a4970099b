/** What a run was asked, as it is kept: redacted. */
import type { Store, StoredRun } from "../ports/store.ts";
import { findAcceptance } from "./acceptance.ts";
import { readBodies } from "./read-run.ts";

/** Null when it was erased, or what is stored of it cannot be read. */
export async function messageOfRun(
  store: Pick<Store, "readBodies">,
  { runId, sessionId, accepted }: Pick<StoredRun, "runId" | "sessionId" | "accepted">,
): Promise<string | null> {
  const acceptance = findAcceptance(accepted);
  if (acceptance === null) return null;
  const { messageRef } = acceptance.event;
  return (await readBodies(store, sessionId, [messageRef], runId)).get(messageRef)?.text ?? null;
}

const MAX_WORDS_CHARS = 48;

/** The first words of a text, in one line. */
export function firstWords(text: string, maxChars = MAX_WORDS_CHARS): string {
  const line = text.trim().replace(/\s+/gu, " ");
  const characters = [...line];
  if (characters.length <= maxChars) return line;
  const cut = characters.slice(0, maxChars).join("");
  const blank = cut.lastIndexOf(" ");
  return `${blank > maxChars / 2 ? cut.slice(0, blank) : cut}…`;
}
