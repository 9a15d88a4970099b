/**
 * A mount: something with an HTTP interface of its own (the OpenAI API, an MCP server, the files of the control UI) that the
 * gateway serves on its port. It speaks the standard's `Request` and `Response`, and boot hands it to the gateway.
 *
 * M1. The gateway has checked Host, Origin, token, scope and method, and read the body within its cap. A mount never sees a
 *     token or a cookie.
 * M2. It is loaded at its first request.
 * M3. `request.signal` aborts when the client disconnects or the gateway stops; then its reason is `GATEWAY_STOPPING`.
 */
import type { Caller, Scope } from "./operation.ts";

export const GATEWAY_STOPPING = "the gateway is stopping";

export interface Mount {
  /** As they are written in a request. One that ends in `/*` stands for every path below it; the longest one wins. */
  readonly paths: readonly `/${string}`[];
  /** A HEAD reaches the mount as a GET; the gateway drops the body. */
  readonly methods: readonly string[];
  /** `public` needs no token. */
  readonly scope: Scope;
  /** Of a request; absent: as for operations. */
  readonly maxBodyBytes?: number;
  /** The body of an error that the gateway answers for it; absent: the one shape of operations. */
  readonly errorBody?: (error: MountError) => object;
  load(): Promise<Serve>;
}

export type Serve = (request: Request, caller: Caller) => Response | Promise<Response>;

export interface MountError {
  readonly status: number;
  readonly code: string;
  readonly message: string;
}
