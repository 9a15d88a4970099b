/** The canonical error codes of tool envelopes (O-1.3). The HTTP API has more; tools have exactly these. */
export const ERROR_CODES = [
  "invalid.request",
  "tool.not_found",
  "tool.input_invalid",
  "policy.denied",
  "sandbox.required",
  "timeout",
  "internal.error",
] as const;
export type ErrorCode = (typeof ERROR_CODES)[number];
