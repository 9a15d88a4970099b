/** Why a running gateway could not be asked. A message holds neither the token nor what was sent. */
export type GatewayClientErrorCode =
  /** No answer, not in time, or the connection broke. */
  | "gateway.unreachable"
  /** A stream was lost, and could not be resumed for a while. */
  | "gateway.lost"
  /** What answers did not prove that it is the gateway of this home. */
  | "gateway.unproven"
  /** It refuses our token. */
  | "gateway.unauthorized"
  /** What answers is not a gateway of this version. */
  | "gateway.unintelligible";

export class GatewayClientError extends Error {
  override readonly name = "GatewayClientError";
  readonly code: GatewayClientErrorCode;
  readonly hint: string;

  constructor(code: GatewayClientErrorCode, message: string, hint: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    this.hint = hint;
  }
}

export function unreachable(url: string, what: string, cause?: unknown): GatewayClientError {
  const hint = "Is it running? `surety start` starts it.";
  return new GatewayClientError("gateway.unreachable", `the gateway at ${url} ${what}`, hint, { cause });
}

export const LOST = "Lost the gateway. The run is saved and continues when you restart it.";

export function lost(cause: unknown): GatewayClientError {
  return new GatewayClientError("gateway.lost", LOST, "Restart it: surety start", { cause });
}

export function unproven(url: string): GatewayClientError {
  const hint =
    "Another program may have taken its port; it got no token. Stop it, and restart the gateway: surety start";
  const message = `what listens at ${url} did not prove that it is the gateway of this home`;
  return new GatewayClientError("gateway.unproven", message, hint);
}

export function unintelligible(url: string, what: string): GatewayClientError {
  const hint = "Check that it is a surety gateway of the same version as this command.";
  return new GatewayClientError("gateway.unintelligible", `the gateway at ${url} ${what}`, hint);
}

export function unauthorized(url: string): GatewayClientError {
  const hint = "Use the home it runs on (--home), or its token (SURETY_TOKEN).";
  return new GatewayClientError("gateway.unauthorized", `the gateway at ${url} refuses our token`, hint);
}
