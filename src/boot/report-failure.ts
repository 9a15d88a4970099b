/**
 * Prints why a command failed: one line with a code, one that says what to do, never a stack.
 *
 * F1. Messages of our own errors and of the operating system, which names files and calls only, are shown as they are.
 *     Other messages may quote content, and are redacted first.
 */
import { styleFor } from "../adapters/terminal/style.ts";
import { visibleJson, visibleLine } from "../adapters/terminal/visible-text.ts";
import { Defect } from "../kernel/vocabulary/defect.ts";
import { StoreError } from "../runtime/ports/store.ts";
import { BootError, EXIT, systemCodeOf } from "./boot-error.ts";
import type { Streams } from "./output.ts";

interface Failure {
  readonly code: string;
  readonly message: string;
  readonly hint: string;
  readonly exitCode: number;
}

interface Manner {
  readonly isJson: boolean;
  readonly isColourWelcome: boolean;
}

/** `area.reason`, as ours are. */
const OUR_CODE = /^[a-z]+(?:[._-][a-z]+)+$/;

const SYSTEM_HINTS: Readonly<Record<string, string>> = {
  EACCES: "Check its owner and permissions.",
  EADDRINUSE: "Another program listens there: choose another port with --port N.",
  EDQUOT: "Free some space and try again.",
  ENOSPC: "Free some space and try again.",
  EPERM: "Check its owner and permissions.",
  EROFS: "The file system is read-only: choose another directory.",
};

/** Returns the exit code. */
export async function reportFailure(
  error: unknown,
  { stderr }: Pick<Streams, "stderr">,
  manner: Manner,
): Promise<number> {
  const { code, message, hint, exitCode } = await describe(error);
  if (manner.isJson) {
    stderr.write(`${visibleJson(JSON.stringify({ error: { code, message, hint } }))}\n`);
  } else {
    const style = styleFor(stderr, manner.isColourWelcome);
    stderr.write(`${style.red(`error ${code}:`)} ${visibleLine(message)}\n`);
    if (hint !== "") stderr.write(`${style.dim(visibleLine(hint))}\n`);
  }
  return exitCode;
}

async function describe(error: unknown): Promise<Failure> {
  if (error instanceof BootError)
    return { code: error.code, message: error.message, hint: error.hint, exitCode: error.exitCode };
  if (error instanceof Error && "code" in error && typeof error.code === "string" && OUR_CODE.test(error.code)) {
    const hint = "hint" in error && typeof error.hint === "string" ? error.hint : "";
    return { code: error.code, message: error.message, hint, exitCode: EXIT.failure };
  }
  const systemCode = systemCodeOf(error);
  if (error instanceof Error && systemCode !== null) {
    const hint = SYSTEM_HINTS[systemCode] ?? "The operating system refused it.";
    return { code: `system.${systemCode.toLowerCase()}`, message: error.message, hint, exitCode: EXIT.failure };
  }
  return {
    code: "internal.error",
    message: `unexpected failure: ${await redacted(error instanceof Error ? `${error.name}: ${error.message}` : String(error))}`,
    hint: "This is a bug in Surety: please report this line.",
    exitCode: EXIT.failure,
  };
}

async function redacted(text: string): Promise<string> {
  const { compileRedactor } = await import("../kernel/redaction/redact.ts");
  const verdict = compileRedactor({ secrets: [], emails: true, phones: false });
  return verdict.ok ? verdict.redactor.redactText(text).text : "";
}

/**
 * Prints a defect under the error id that the journal or the client got. Only our own messages are shown: others may quote
 * content.
 */
export function defectReporter({ stderr }: Pick<Streams, "stderr">): (errorId: string, error: unknown) => void {
  return (errorId, error) => {
    const name = error instanceof Error ? error.name : typeof error;
    const isOurs = error instanceof Defect || error instanceof StoreError;
    const where = error instanceof Error && !isOurs ? firstFrame(error) : "";
    stderr.write(`error ${errorId}: ${visibleLine(isOurs ? error.message : `${name}${where}`)}\n`);
  };
}

/** A place in our code, which holds no content. */
function firstFrame({ stack = "" }: Error): string {
  const frame = /\n\s+at (.*)/.exec(stack)?.[1];
  return frame === undefined ? "" : ` at ${frame}`;
}
