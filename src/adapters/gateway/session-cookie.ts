/**
 * The cookie of a browser that is signed in.
 *
 * Its name has the port: browsers send the cookies of a host to all its ports, and several gateways may run on one machine.
 */
import type { Result } from "../../runtime/operations/operation.ts";
import type { CallerSocket } from "./caller-socket.ts";
import type { Head } from "./read-head.ts";

export type NewCookie = NonNullable<Extract<Result<unknown>, { readonly ok: true }>["cookie"]>;

const ATTRIBUTES = "Path=/; HttpOnly; SameSite=Strict";

export class SessionCookie {
  readonly #prefix: string;
  readonly #attributes: string;

  /** `isSecure`: pages come over TLS. */
  constructor(isSecure: boolean) {
    this.#prefix = isSecure ? "__Host-surety" : "surety";
    this.#attributes = isSecure ? `${ATTRIBUTES}; Secure` : ATTRIBUTES;
  }

  /** Null: there is none. */
  read({ cookie }: Head, socket: CallerSocket): string | null {
    if (cookie === undefined) return null;
    const start = `${this.#nameOn(socket)}=`;
    const found = cookie.split("; ").find((each) => each.startsWith(start));
    return found?.slice(start.length) ?? null;
  }

  /** The header's value; null takes the cookie away. */
  write(socket: CallerSocket, set: NewCookie | null, nowMs: number): string {
    const seconds = set === null ? 0 : Math.floor((set.expiresAtMs - nowMs) / 1000);
    return `${this.#nameOn(socket)}=${set?.secret ?? ""}; Max-Age=${seconds}; ${this.#attributes}`;
  }

  #nameOn({ localPort = 0 }: CallerSocket): string {
    return `${this.#prefix}_${localPort}`;
  }
}
