/**
 * Connections whose client has not proved who it is. They are bounded, in all and for each network they come from; where there
 * are more, the oldest of them is closed. A client that sends its request at once has proved itself long before it is the
 * oldest, however many others only hold a connection; so nothing starves it.
 */
import type { Socket } from "node:net";
import { networkOf } from "./wrong-tokens.ts";

const MAX_IN_ALL = 1_024;
const MAX_OF_A_NETWORK = 256;

type Peer = Pick<Socket, "remoteAddress" | "remotePort">;

interface Unproven {
  readonly socket: Socket;
  readonly network: string;
}

export class UnprovenConnections {
  /** By peer, so that what lies above a socket (TLS) is known as well. The oldest comes first. */
  readonly #unproven = new Map<string, Unproven>();
  readonly #counts = new Map<string, number>();

  add(socket: Socket): void {
    const peer = peerOf(socket);
    const network = networkOf(socket.remoteAddress ?? "");
    this.#unproven.set(peer, { socket, network });
    const count = (this.#counts.get(network) ?? 0) + 1;
    this.#counts.set(network, count);
    socket.once("close", () => this.#forget(peer));
    if (count > MAX_OF_A_NETWORK) this.#closeOldest(network);
    else if (this.#unproven.size > MAX_IN_ALL) this.#closeOldest(null);
  }

  /** It has shown a credential that counts. */
  prove(peer: Peer): void {
    this.#forget(peerOf(peer));
  }

  #forget(peer: string): void {
    const unproven = this.#unproven.get(peer);
    if (unproven === undefined) return;
    this.#unproven.delete(peer);
    const left = (this.#counts.get(unproven.network) ?? 1) - 1;
    if (left === 0) this.#counts.delete(unproven.network);
    else this.#counts.set(unproven.network, left);
  }

  #closeOldest(from: string | null): void {
    for (const [peer, { socket, network }] of this.#unproven) {
      if (from !== null && network !== from) continue;
      this.#forget(peer);
      socket.destroy();
      return;
    }
  }
}

function peerOf({ remoteAddress, remotePort }: Peer): string {
  return `${remoteAddress ?? ""} ${remotePort ?? 0}`;
}
