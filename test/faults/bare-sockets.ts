/** Connections as bare as they can be, so that one process can hold ten thousand; and how many of them this machine allows. */
import { readdirSync, readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";

/** Kept free for everything else. */
const OTHER_FILES = 600;

/** As many connections as the limit on open files allows, each process having one end. */
export function connectionsAllowed(asked: number): number {
  const limit = /^Max open files\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8"))?.[1];
  return limit === undefined ? asked : Math.min(asked, Number(limit) - OTHER_FILES);
}

export function residentMiB(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Math.round(Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1] ?? 0) / 1024);
}

/** A peer that reads nothing does not see that it was cut off; the process has a file less. */
export function openFiles(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}

export interface Bare {
  readonly socket: Socket;
  readonly isClosed: () => boolean;
}

export async function openBare(port: number): Promise<Bare> {
  const socket = connect({ host: "127.0.0.1", port });
  let isClosed = false;
  socket.on("close", () => {
    isClosed = true;
  });
  socket.on("error", () => {});
  await new Promise<void>((resolve) => {
    socket.once("connect", resolve);
    socket.once("close", () => resolve());
  });
  return { socket, isClosed: () => isClosed };
}

/** An unasked-for pong, masked with zeros: the peer is alive. */
const PONG = Buffer.from([0x8a, 0x80, 0, 0, 0, 0]);

export function showLife({ socket }: Bare): void {
  socket.write(PONG);
}

/** A WebSocket that is open and reads on, without looking at what it gets. */
export async function openWebSocket(port: number, token: string): Promise<Bare> {
  const bare = await openBare(port);
  const head = await new Promise<string>((resolve) => {
    bare.socket.once("data", (chunk: Buffer) => resolve(chunk.toString("latin1")));
    bare.socket.once("close", () => resolve(""));
    bare.socket.write(
      [
        ...["GET / HTTP/1.1", "Host: 127.0.0.1", "Upgrade: websocket", "Connection: Upgrade"],
        ...["Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="],
        ...[`Authorization: Bearer ${token}`, "", ""],
      ].join("\r\n"),
    );
  });
  if (!head.startsWith("HTTP/1.1 101")) throw new Error(`no WebSocket: ${head.split("\r\n")[0]}`);
  bare.socket.resume();
  return bare;
}

/** Of every so many at once. */
export async function openMany<Item>(count: number, open: (index: number) => Promise<Item>): Promise<Item[]> {
  const items: Item[] = [];
  const AT_ONCE = 100;
  while (items.length < count) {
    const from = items.length;
    const next = Math.min(AT_ONCE, count - from);
    items.push(...(await Promise.all(Array.from({ length: next }, (_, index) => open(from + index)))));
  }
  return items;
}
