/** Why the gateway cannot listen, and what to do. */
export type GatewayErrorCode = "gateway.port-in-use" | "gateway.port-forbidden" | "gateway.address-unavailable";

export class GatewayError extends Error {
  override readonly name = "GatewayError";
  readonly code: GatewayErrorCode;
  readonly hint: string;

  constructor(code: GatewayErrorCode, message: string, hint: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    this.hint = hint;
  }
}

/** Null for an unexpected failure. */
export function listenFailure(error: unknown, host: string, port: number): GatewayError | null {
  if (!(error instanceof Error) || !("code" in error)) return null;
  const cause = { cause: error };
  switch (error.code) {
    case "EADDRINUSE":
      return new GatewayError(
        "gateway.port-in-use",
        `port ${port} on ${host} is in use`,
        "Stop what listens there, or choose another port with --port.",
        cause,
      );
    case "EACCES":
    case "EPERM":
      return new GatewayError(
        "gateway.port-forbidden",
        `port ${port} on ${host} may not be used by this account`,
        "Choose a port above 1023 with --port.",
        cause,
      );
    case "EADDRNOTAVAIL":
    case "EAFNOSUPPORT":
    case "EAI_AGAIN":
    case "ENOTFOUND":
      return new GatewayError(
        "gateway.address-unavailable",
        `${host} is not an address of this machine`,
        "Choose another with --host; 127.0.0.1 always works.",
        cause,
      );
    default:
      return null;
  }
}
