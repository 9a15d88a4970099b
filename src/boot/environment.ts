/**
 * The one reader of the environment: variables by name, from the process and from `.env` in the home.
 *
 * V1. The process's own variables win over the file's.
 * V2. The file's variables are kept to ourselves: child processes never inherit them.
 * V3. An empty variable counts as absent.
 */
import { readFile } from "node:fs/promises";
import { BootError, systemCodeOf } from "./boot-error.ts";
import { parseEnvFile } from "./env-file.ts";

export type ReadVariable = (name: string) => string | undefined;

const MAX_ENV_FILE_BYTES = 256 * 1024;

export const readProcessVariable: ReadVariable = (name) => orAbsent(process.env[name]);

export async function withEnvFile(readVariable: ReadVariable, file: string): Promise<ReadVariable> {
  const text = await readEnvFile(file);
  if (text === null) return readVariable;
  const verdict = parseEnvFile(text);
  if (!verdict.ok) {
    throw new BootError(
      "env.invalid",
      `${file}:${verdict.line}: ${verdict.problem}`,
      'Write one variable a line, as NAME=value or NAME="value"; comments start with #.',
    );
  }
  const { variables } = verdict;
  return (name) => readVariable(name) ?? orAbsent(variables.get(name));
}

async function readEnvFile(file: string): Promise<string | null> {
  try {
    const bytes = await readFile(file);
    if (bytes.length > MAX_ENV_FILE_BYTES) throw unreadable(file, `it is larger than ${MAX_ENV_FILE_BYTES} bytes`);
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (error) {
    if (error instanceof BootError) throw error;
    const code = systemCodeOf(error);
    if (code === "ENOENT" || code === "ENOTDIR") return null;
    throw unreadable(file, code ?? "it is not UTF-8", error);
  }
}

function unreadable(file: string, why: string, cause?: unknown): BootError {
  return new BootError(
    "env.unreadable",
    `${file} cannot be read (${why})`,
    "It must be a small UTF-8 text file that you may read; move it away to go on without it.",
    { cause },
  );
}

function orAbsent(value: string | undefined): string | undefined {
  return value === "" ? undefined : value;
}
