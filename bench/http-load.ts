/**
 * Requests a second from one server: so many kept-alive connections, each sending the next request when the answer to
 * the last is whole. On bare sockets, for a client that costs as much as the server would measure itself.
 */
import { connect, type Socket } from "node:net";

const CONNECTIONS = 32;

export interface Answered {
  readonly status: number;
  readonly body: string;
}

export async function getOnce(url: string, headers: Readonly<Record<string, string>> = {}): Promise<Answered> {
  const response = await fetch(url, { headers });
  return { status: response.status, body: await response.text() };
}

export async function requestsPerSecond(url: string, token: string, durationMs: number): Promise<number> {
  const { hostname, port, pathname, search } = new URL(url);
  const head = [`GET ${pathname}${search} HTTP/1.1`, `Host: ${hostname}:${port}`, `Authorization: Bearer ${token}`];
  const request = `${head.join("\r\n")}\r\n\r\n`;
  let answered = 0;
  let isOver = false;
  const converse = (socket: Socket): void => {
    let expected = 0;
    let received = 0;
    socket.on("data", (bytes) => {
      if (expected === 0) expected = lengthOf(bytes.toString("latin1"));
      received += bytes.length;
      if (received < expected) return;
      answered += 1;
      received = 0;
      if (!isOver) socket.write(request);
    });
    socket.write(request);
  };
  const sockets = await Promise.all(Array.from({ length: CONNECTIONS }, () => connected(Number(port), hostname)));
  const startedAt = performance.now();
  for (const socket of sockets) converse(socket);
  await new Promise((resolve) => setTimeout(resolve, durationMs));
  const rate = (answered * 1000) / (performance.now() - startedAt);
  isOver = true;
  for (const socket of sockets) socket.destroy();
  return rate;
}

/** Every answer to one request has one length: its date has. */
function lengthOf(text: string): number {
  const head = text.indexOf("\r\n\r\n") + 4;
  if (!text.startsWith("HTTP/1.1 200")) throw new Error(text.slice(0, 60));
  return head + Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0);
}

function connected(port: number, host: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host, noDelay: true }, () => resolve(socket));
    socket.on("error", reject);
  });
}
