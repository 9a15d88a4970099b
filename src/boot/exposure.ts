/**
 * What a gateway shows of itself beyond this machine: never without encryption, its own (`gateway.tls`) or that of a named
 * proxy (`gateway.proxy`).
 */
import { createPrivateKey, X509Certificate } from "node:crypto";
import { resolve } from "node:path";
import type { Certificate } from "../adapters/gateway/create-gateway.ts";
import { isLoopback } from "../runtime/access/is-loopback.ts";
import type { Clock } from "../runtime/ports/clock.ts";
import { BootError } from "./boot-error.ts";
import type { Config } from "./config/config.ts";
import { expandTilde, type Home } from "./home.ts";
import { readBoundedFile, UnreadableFile } from "./read-bounded-file.ts";

type GatewayConfig = Config["gateway"];

const MAX_PEM_BYTES = 256 * 1024;
const LOOK_AGAIN_MS = 30_000;
const ANY_ADDRESS: readonly string[] = ["0.0.0.0", "::", "[::]"];

export function assertProtected(host: string, { tls, proxy }: GatewayConfig): void {
  if (isLoopback(host) || tls !== undefined || proxy !== undefined) return;
  throw new BootError(
    "gateway.exposed",
    `${host} can be reached from the network, and nothing encrypts what passes`,
    "Name a certificate (gateway.tls.cert, gateway.tls.key) or the proxy before it (gateway.proxy), or leave --host and gateway.host at 127.0.0.1.",
  );
}

/** Where people reach it: what a login link begins with. */
export function publicUrl({ proxy, allowedHosts }: GatewayConfig, listening: string): string {
  if (proxy !== undefined) return proxy.url;
  const url = new URL(listening);
  if (ANY_ADDRESS.includes(url.hostname)) url.hostname = allowedHosts[0] ?? "127.0.0.1";
  else if (url.protocol === "https:") url.hostname = allowedHosts[0] ?? url.hostname;
  return url.origin;
}

/** Null: the config names none. */
export async function readCertificate({ tls }: GatewayConfig, { directory }: Home): Promise<Certificate | null> {
  if (tls === undefined) return null;
  const at = (path: string): string => resolve(directory, expandTilde(path));
  const [cert, key] = [await readPem(at(tls.cert), "cert"), await readPem(at(tls.key), "key")];
  try {
    if (new X509Certificate(cert).checkPrivateKey(createPrivateKey(key))) return { cert, key };
  } catch (error) {
    throw unusable("gateway.tls: these files hold no certificate and private key in PEM form", error);
  }
  throw unusable("gateway.tls: the key is not that of the certificate");
}

async function readPem(path: string, what: "cert" | "key"): Promise<string> {
  const why = await readBoundedFile(path, MAX_PEM_BYTES).catch((error: unknown) => {
    if (error instanceof UnreadableFile) return error.why;
    throw error;
  });
  if (why !== null && typeof why !== "string") return why.toString("utf8");
  throw unusable(`gateway.tls.${what}: ${path} cannot be read (${why ?? "there is no such file"})`);
}

function unusable(message: string, cause?: unknown): BootError {
  return new BootError("tls.unusable", message, "Name the files of a certificate and its key.", { cause });
}

interface Renewing {
  readonly current: Certificate;
  readonly read: () => Promise<Certificate | null>;
  readonly renew: (certificate: Certificate) => void;
  readonly clock: Pick<Clock, "wake">;
  readonly remark: (line: string) => void;
}

/** Looks at the files again and again: a renewed certificate is used without a restart. Returns how to stop. */
export function followCertificate({ current, read, renew, clock, remark }: Renewing): () => void {
  let known = current;
  let trouble = "";
  let cancel = (): void => {};
  const look = async (): Promise<void> => {
    try {
      const found = await read();
      trouble = "";
      if (found !== null && (found.cert !== known.cert || found.key !== known.key)) {
        renew(found);
        known = found;
        remark("The certificate was renewed.");
      }
    } catch (error) {
      // While one of the two files is new and the other is not yet; the old certificate serves on.
      const problem = error instanceof Error ? error.message : String(error);
      if (problem !== trouble) remark(`warning tls.unusable: ${problem}; the earlier certificate is still used`);
      trouble = problem;
    }
    next();
  };
  const next = (): void => {
    cancel = clock.wake(LOOK_AGAIN_MS, look);
  };
  next();
  return () => cancel();
}
