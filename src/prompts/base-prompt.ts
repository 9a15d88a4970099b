/** The base prompt (P-2.2, P-2.3): its own file, identified by version and hash, never stored with a run's content. */
import { readFileSync } from "node:fs";
import { hashBytes } from "../kernel/vocabulary/hash.ts";
import type { Hash } from "../kernel/vocabulary/identifiers.ts";

export interface BasePrompt {
  readonly versionId: string;
  readonly sha256: Hash;
  readonly content: string;
}

let loaded: BasePrompt | null = null;

export function getBasePrompt(): BasePrompt {
  loaded ??= load();
  return loaded;
}

function load(): BasePrompt {
  const content = readFileSync(new URL("./sophie_base_prompt_v1.txt", import.meta.url), "utf8");
  return { versionId: "SOPHIE_BASE_PROMPT_V1", sha256: hashBytes(content), content };
}
