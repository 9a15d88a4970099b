/**
 * The expected ways a tool call fails, thrown inside the adapter and turned into an envelope's error at its edge.
 *
 * Which code a tool gives (O-1.3):
 *   tool.input_invalid  the arguments can never work: wrong type, an impossible name, malformed text;
 *   policy.denied       the call would leave its boundary, or the world changed since it was planned;
 *   invalid.request     well-formed and permitted, but impossible now: the file is missing, or already exists;
 *   internal.error      the machine failed: disk full, too many open files.
 *
 * A message says what to do, and holds no file content and no stack.
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
