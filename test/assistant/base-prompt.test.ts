import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { expect } from "vitest";
import { getBasePrompt } from "../../src/prompts/base-prompt.ts";
import { verifies } from "../requirements.ts";

verifies("P-2.3", "getBasePrompt gives the file's text as it is stored, its version and its SHA-256", () => {
  const stored = readFileSync(new URL("../../src/prompts/sophie_base_prompt_v1.txt", import.meta.url));
  const { versionId, sha256, content, ...rest } = getBasePrompt();
  expect(rest).toEqual({});
  expect(versionId).toBe("SOPHIE_BASE_PROMPT_V1");
  expect(Buffer.from(content)).toEqual(stored);
  expect(sha256).toBe(createHash("sha256").update(stored).digest("hex"));
  expect(content.trim()).not.toBe("");
});
