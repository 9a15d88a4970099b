/**
 * The expected ways a tool call fails, thrown inside the adapter and turned into an envelope's error at its edge.
 *
 * Which code a tool gives (O-1.3):
 *   tool.input_invalid  the arguments could never work: wrong type, a name no system takes, text that is no text;
 *   policy.denied       the call would leave its boundary, or the world is no longer the one that was planned for;
 *   invalid.request     well-formed and permitted, but the world says no: nothing is there, something already is;
 *   internal.error      the machine could not do it: disk full, too many open files.
 *
 * F1. The message says what to do about it, and holds nothing of a file's content and no stack.
 */
import type { ErrorCode } from "../../kernel/vocabulary/error-code.ts";
import type { JsonValue } from "../../kernel/vocabulary/parse-json.ts";
import type { ToolError } from "../../kernel/vocabulary/tool-envelope.ts";

export class ToolFailure extends Error {
  override readonly name = "ToolFailure";
  readonly code: ErrorCode;
  readonly details: Readonly<Record<string, JsonValue>>;
  readonly retryable: boolean;

  constructor(
    code: ErrorCode,
    message: string,
    options: {
      readonly details?: Readonly<Record<string, JsonValue>>;
      readonly retryable?: boolean;
      readonly cause?: unknown;
    } = {},
  ) {
    super(message, { cause: options.cause });
    this.code = code;
    this.details = options.details ?? {};
    this.retryable = options.retryable ?? false;
  }
}

export function toolErrorOf({ code, message, retryable, details }: ToolFailure): ToolError {
  return { code, message, retryable, details: { ...details } };
}
