/** Beyond this machine: encrypted or behind a named proxy, or not at all; and the commands that let others in. */
import { spawn } from "node:child_process";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { request } from "node:https";
import { connect } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { DEFAULT_CONFIG } from "../../src/boot/config/default-config.ts";
import { followCertificate, publicUrl, readCertificate } from "../../src/boot/exposure.ts";
import type { Home } from "../../src/boot/home.ts";
import { ManualClock } from "../adapters/gateway/manual-clock.ts";
import { startGateway } from "../adapters/gateway/running-gateway.ts";
import { selfSigned } from "../loopback/self-signed.ts";
import { verifies } from "../requirements.ts";
import { temporaryHome } from "./temporary-home.ts";

const ENTRY = fileURLToPath(new URL("../../src/boot/surety.ts", import.meta.url));
const NAME = "surety.test";
const TLS = { cert: "cert.pem", key: "key.pem" };

async function homeWith(config: object): Promise<Home> {
  const home = await temporaryHome();
  await mkdir(home.directory, { recursive: true });
  await writeFile(home.configFile, JSON.stringify(config));
  return home;
}

async function writeCertificate({ directory }: Home) {
  const { key, certificate: cert } = selfSigned(NAME);
  await writeFile(join(directory, TLS.cert), cert);
  await writeFile(join(directory, TLS.key), key, { mode: 0o600 });
  return { cert, key };
}

function surety(home: Home, ...words: readonly string[]) {
  const child = spawn(process.execPath, [ENTRY, ...words, "--home", home.directory], {
    env: { ...process.env, NO_COLOR: "1" },
  });
  onTestFinished(() => {
    child.kill("SIGKILL");
  });
  const written = { stdout: "", stderr: "" };
  let look = (): void => {};
  for (const name of ["stdout", "stderr"] as const) {
    child[name].on("data", (chunk: Buffer) => {
      written[name] += chunk.toString();
      look();
    });
  }
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
  return {
    written,
    ended,
    says: (pattern: RegExp) =>
      new Promise<string>((resolve, reject) => {
        look = () => {
          const found = pattern.exec(written.stdout);
          if (found !== null) resolve(found[1] ?? "");
        };
        look();
        ended.then(() => reject(new Error(`it ended: ${written.stderr}`)));
      }),
    run: async () => ({ code: await ended, ...written }),
  };
}

interface Answered {
  readonly status: number;
  readonly cookie: string;
  readonly text: string;
  readonly fingerprint: string;
}

function ask(
  port: number,
  cert: string,
  method: string,
  path: string,
  headers: object = {},
  body = "",
): Promise<Answered> {
  return new Promise((resolve, reject) => {
    const outgoing = request(
      {
        host: "127.0.0.1",
        port,
        servername: NAME,
        ca: cert,
        agent: false,
        method,
        path,
        headers: { host: `${NAME}:${port}`, ...headers },
      },
      (incoming) => {
        let text = "";
        const { fingerprint256 } = (incoming.socket as import("node:tls").TLSSocket).getPeerCertificate();
        incoming.on("data", (chunk: Buffer) => {
          text += chunk.toString();
        });
        incoming.on("end", () => {
          const [cookie = ""] = incoming.headers["set-cookie"] ?? [];
          resolve({ status: incoming.statusCode ?? 0, cookie, text, fingerprint: fingerprint256 });
        });
      },
    );
    outgoing.on("error", reject);
    outgoing.end(body);
  });
}

verifies("O-5.1", "beyond this machine it starts encrypted, behind a named proxy, or not at all", async () => {
  const bare = surety(await homeWith({}), "start", "--host", "0.0.0.0", "--port", "0");
  const { code, stdout, stderr } = await bare.run();
  expect([code, stdout]).toEqual([1, ""]);
  expect(stderr).toMatch(/^error gateway\.exposed: 0\.0\.0\.0 can be reached .*gateway\.tls\.cert.*gateway\.proxy/s);
  const empty = await homeWith({ gateway: { tls: TLS } });
  expect((await surety(empty, "start", "--port", "0").run()).stderr).toContain(
    "error tls.unusable: gateway.tls.cert: ",
  );
});

test("over TLS a login link signs a browser in, and commands reach the gateway by its own certificate", async () => {
  const home = await homeWith({ gateway: { tls: TLS, host: "0.0.0.0", allowedHosts: [NAME] } });
  const { cert } = await writeCertificate(home);
  const gateway = surety(home, "start", "--port", "0");
  const url = new URL(await gateway.says(/^surety listening on (\S+)\n/));
  const port = Number(url.port);
  const link = await gateway.says(/^login\s+(\S+)$/m);
  expect([url.protocol, link]).toEqual(["https:", expect.stringContaining(`https://${NAME}:${port}/login#`)]);
  const body = JSON.stringify({ code: link.split("#")[1] });
  const json = { "content-type": "application/json" };
  const entered = await ask(port, cert, "POST", "/api/login", json, body);
  expect(entered).toMatchObject({
    status: 200,
    cookie: expect.stringMatching(/^__Host-surety_\d+=.*; Path=\/; HttpOnly; SameSite=Strict; Secure$/),
  });
  const [cookie = ""] = entered.cookie.split(";");
  expect((await ask(port, cert, "GET", "/v1/runs", { cookie })).status).toBe(200);
  expect(
    (await ask(port, cert, "POST", "/api/logout", { cookie, ...json, origin: `https://${NAME}:${port}` }, "{}")).status,
  ).toBe(200);
  expect((await ask(port, cert, "GET", "/v1/runs", { cookie })).status).toBe(401);
  expect((await ask(port, cert, "GET", "/healthz", { host: "rebound.test" })).status).toBe(403);
  // Plain HTTP is not answered.
  const plain = connect({ host: "127.0.0.1", port }, () =>
    plain.write("GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"),
  );
  let answered = "";
  plain.on("data", (chunk) => {
    answered += chunk;
  });
  await new Promise((resolve) => plain.on("close", resolve).on("error", () => plain.destroy()));
  expect(answered).not.toContain("HTTP/1.1 200");

  const again = await surety(home, "login").run();
  expect(again).toMatchObject({ code: 0, stdout: expect.stringContaining(`https://${NAME}:${port}/login#`) });
  const made = JSON.parse((await surety(home, "tokens", "add", "ci", "--scope", "operate", "--json").run()).stdout);
  const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
  expect((await ask(port, cert, "GET", "/v1/runs", bearer(made.token))).status).toBe(200);
  const listed = await surety(home, "tokens", "ls").run();
  expect(listed.stdout).toContain(made.id);
  expect(listed.stdout).not.toContain(made.token);
  const before = (await readFile(home.tokenFile, "utf8")).trim();
  const { stdout } = await surety(home, "tokens", "rotate", "main").run();
  const after = (await readFile(home.tokenFile, "utf8")).trim();
  expect([stdout.trim(), before === after]).toEqual([after, false]);
  const statuses = await Promise.all(
    [before, after].map(async (each) => (await ask(port, cert, "GET", "/v1/runs", bearer(each))).status),
  );
  expect(statuses).toEqual([401, 200]);
  expect(await surety(home, "tokens", "rm", made.id).run()).toMatchObject({ code: 0 });
  expect((await ask(port, cert, "GET", "/v1/runs", bearer(made.token))).status).toBe(401);
});

test("surety login without a gateway says what to do", async () => {
  const { code, stderr } = await surety(await homeWith({}), "login").run();
  expect([code, stderr]).toEqual([
    1,
    expect.stringMatching(/^error gateway\.unreachable: no gateway runs on this home.*surety start/s),
  ]);
});

test("a renewed certificate is used without a restart; while it is half written the earlier one is", async () => {
  const home = await homeWith({});
  const config = { ...DEFAULT_CONFIG.gateway, tls: TLS };
  const first = await writeCertificate(home);
  const tls = await readCertificate(config, home);
  const gateway = await startGateway({ tls });
  const clock = new ManualClock();
  const remarks: string[] = [];
  let looked = Promise.withResolvers<void>();
  const stop = followCertificate({
    ...{ current: first, clock, renew: gateway.renew, remark: (line) => remarks.push(line) },
    read: () => readCertificate(config, home).finally(() => looked.resolve()),
  });
  onTestFinished(stop);
  const look = async () => {
    looked = Promise.withResolvers<void>();
    clock.advance(30_000);
    await looked.promise;
    // The next look is set up once this one is over.
    await new Promise(setImmediate);
  };
  const shown = async (cert: string) =>
    (await ask(gateway.port, cert, "GET", "/healthz", { host: "127.0.0.1" })).fingerprint;
  const before = await shown(first.cert);
  const next = selfSigned(NAME);
  await writeFile(join(home.directory, TLS.cert), next.certificate);
  await look();
  await look();
  expect(await shown(first.cert)).toBe(before);
  await writeFile(join(home.directory, TLS.key), next.key);
  await look();
  expect(await shown(next.certificate)).not.toBe(before);
  expect(remarks).toEqual([
    expect.stringContaining("the key is not that of the certificate"),
    "The certificate was renewed.",
  ]);
});

test("behind a proxy its name and origin are the gateway's, and only it says who asks", async () => {
  const url = "https://surety.example.org";
  const gateway = await startGateway({ proxy: { url, from: ["127.0.0.1"] } });
  const wrong = async (forwarded: string, origin = url) => {
    const headers = { host: "surety.example.org", origin, authorization: "Bearer wrong", "x-forwarded-for": forwarded };
    return (await gateway.ask("GET", "/v1/runs", { headers })).status;
  };
  expect(await wrong("198.51.100.7", "https://evil.test")).toBe(403);
  for (let at = 0; at < 10; at += 1) expect(await wrong(`203.0.113.${at}, 198.51.100.7`)).toBe(401);
  expect(await wrong("203.0.113.99, 198.51.100.7")).toBe(429);
  expect(await wrong("198.51.100.7, 203.0.113.99")).toBe(401);
  const { code } = gateway.assistant.access.newCode();
  const headers = { host: "surety.example.org", origin: url };
  const entered = await gateway.ask("POST", "/api/login", { headers, body: { code } });
  expect(entered.headers["set-cookie"]).toEqual([expect.stringMatching(/^__Host-surety_.*; Secure$/)]);
  expect(publicUrl({ ...DEFAULT_CONFIG.gateway, proxy: { url, from: ["127.0.0.1"] } }, gateway.url)).toBe(url);

  const other = await startGateway({ proxy: { url, from: ["192.0.2.1"] } });
  const spoofed = async () =>
    (
      await other.ask("GET", "/v1/runs", {
        headers: { authorization: "Bearer wrong", "x-forwarded-for": "198.51.100.8" },
      })
    ).status;
  for (let at = 0; at < 10; at += 1) expect(await spoofed()).toBe(401);
  expect(await other.ask("GET", "/v1/runs", { headers: { authorization: "Bearer wrong" } })).toMatchObject({
    status: 429,
  });
});
