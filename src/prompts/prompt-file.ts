/** A prompt text of the project: a file of its own, identified by version and hash (P-2.2). */
import { readFileSync } from "node:fs";
import { hashBytes } from "../kernel/vocabulary/hash.ts";
import type { Hash } from "../kernel/vocabulary/identifiers.ts";

export interface PromptFile {
  readonly versionId: string;
  readonly sha256: Hash;
  readonly content: string;
}

const loaded = new Map<string, PromptFile>();

/** The bundle keeps these files beside its modules. */
export function promptFile(versionId: string): PromptFile {
  const prompt = loaded.get(versionId) ?? load(versionId);
  loaded.set(versionId, prompt);
  return prompt;
}

function load(versionId: string): PromptFile {
  const content = readFileSync(new URL(`./${versionId.toLowerCase()}.txt`, import.meta.url), "utf8");
  return { versionId, sha256: hashBytes(content), content };
}
