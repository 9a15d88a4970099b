/** The types that the package publishes: one file, which imports nothing. */
import { readFileSync } from "node:fs";

const PARTS = ["surety-api", "sub-agents-api"];
const IMPORT = /^import type .*\n\n?/gm;

export function libraryTypes(): string {
  const texts = PARTS.map((name) => readFileSync(new URL(`../src/boot/embedding/${name}.ts`, import.meta.url), "utf8"));
  return texts.map((text) => text.replace(IMPORT, "")).join("\n");
}
