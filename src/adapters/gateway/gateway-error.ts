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
export function listenFailure(cause: unknown, host: string, port: number): GatewayError | null {
  const failure = (code: GatewayErrorCode, message: string, hint: string) =>
    new GatewayError(code, message, hint, { cause });
  switch (cause instanceof Error && "code" in cause && cause.code) {
    case "EADDRINUSE": {
      const hint = "Stop what listens there, or choose another port with --port.";
      return failure("gateway.port-in-use", `port ${port} on ${host} is in use`, hint);
    }
    case "EACCES":
    case "EPERM": {
      const hint = "Choose a port above 1023 with --port.";
      return failure("gateway.port-forbidden", `port ${port} on ${host} may not be used by this account`, hint);
    }
    case "EADDRNOTAVAIL":
    case "EAFNOSUPPORT":
    case "EAI_AGAIN":
    case "ENOTFOUND": {
      const hint = "Choose another with --host; 127.0.0.1 always works.";
      return failure("gateway.address-unavailable", `${host} is not an address of this machine`, hint);
    }
    default:
      return null;
  }
}
