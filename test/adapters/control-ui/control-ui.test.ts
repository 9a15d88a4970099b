/** The files of the control UI, served by a real gateway over files made by the test. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { gunzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { controlUi } from "../../../src/adapters/control-ui/control-ui.ts";
import { temporaryDirectory } from "../../boot/temporary-home.ts";
import { citedTitle } from "../../requirements.ts";
import { sendRaw, startGateway } from "../gateway/running-gateway.ts";

const DOCUMENT = "<!doctype html><title>Surety</title>";
const FILES = {
  "index.html": "text/html; charset=utf-8",
  "assets/main-1a2b.js": "text/javascript; charset=utf-8",
  "assets/words-3c4d.woff2": "font/woff2",
};

async function startWithPages() {
  const directory = await temporaryDirectory();
  await mkdir(join(directory, "ui/assets"), { recursive: true });
  await writeFile(join(directory, "secret.txt"), "not yours");
  await writeFile(join(directory, "ui/unlisted.txt"), "not yours");
  await writeFile(join(directory, "ui/index.html"), DOCUMENT);
  await writeFile(join(directory, "ui/assets/main-1a2b.js"), "run()");
  await writeFile(join(directory, "ui/assets/words-3c4d.woff2"), "font");
  await writeFile(join(directory, "ui/files.json"), JSON.stringify({ pages: ["chat", "now", "runs"], files: FILES }));
  return await startGateway({ mounts: [controlUi(pathToFileURL(`${directory}/ui/`))] });
}

describe("the control UI's files", () => {
  test.each(["/", "/?x=1", "/chat", "/chat/01ABC", "/runs/run_1/entries?after=2"])(
    `${citedTitle("T-1.2/pages", "%s")} is the document, open without a token and never cached`,
    async (path) => {
      const gateway = await startWithPages();
      const answer = await gateway.ask("GET", path);
      expect([answer.status, answer.headers["content-type"], answer.text]).toEqual([
        ...[200, "text/html; charset=utf-8", DOCUMENT],
      ]);
      expect(answer.headers).toMatchObject({
        "cache-control": "no-store",
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
        "content-security-policy":
          "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types surety-worker",
      });
    },
  );

  test("files named by their content are cached for ever, and compressed where that helps", async () => {
    const gateway = await startWithPages();
    const plain = await gateway.ask("GET", "/assets/main-1a2b.js");
    expect([plain.status, plain.text, plain.headers["content-encoding"]]).toEqual([200, "run()", undefined]);
    expect(plain.headers["cache-control"]).toBe("public, max-age=31536000, immutable");
    const accept = "Accept-Encoding: gzip\r\nConnection: close\r\n\r\n";
    const raw = await sendRaw(gateway.port, `GET /assets/main-1a2b.js HTTP/1.1\r\nHost: localhost\r\n${accept}`);
    const chunk = Buffer.from(raw.slice(raw.indexOf("\x1f\x8b")), "latin1");
    expect(raw).toContain("content-encoding: gzip");
    expect(gunzipSync(chunk.subarray(0, chunk.lastIndexOf("\r\n0\r\n"))).toString()).toBe("run()");
    const font = await gateway.ask("GET", "/assets/words-3c4d.woff2", { headers: { "accept-encoding": "gzip" } });
    expect([font.text, font.headers["content-encoding"]]).toEqual(["font", undefined]);
  });

  test.each([
    "/assets/../secret.txt",
    "/assets/../../secret.txt",
    "/assets/%2e%2e/secret.txt",
    "/assets/..%2fsecret.txt",
    "/assets/../unlisted.txt",
    "/assets/unlisted.txt",
    "/assets/constructor",
    "/assets//index.html",
    "/unlisted.txt",
    "/files.json",
    "//",
  ])("%s leads to no file", async (path) => {
    const gateway = await startWithPages();
    const answer = await gateway.ask("GET", path);
    expect(answer.text).not.toContain("not yours");
    expect([401, 404]).toContain(answer.status);
  });

  test("pages take no other method and no other Host, and HEAD has no body", async () => {
    const gateway = await startWithPages();
    expect((await gateway.ask("POST", "/")).status).toBe(405);
    expect((await gateway.ask("GET", "/", { headers: { host: "evil.example" } })).status).toBe(403);
    const head = await gateway.ask("HEAD", "/chat");
    expect([head.status, head.text]).toEqual([200, ""]);
  });

  test("where nothing was built, the page says what to do", async () => {
    const directory = await temporaryDirectory();
    const gateway = await startGateway({ mounts: [controlUi(pathToFileURL(`${directory}/ui/`))] });
    const answer = await gateway.ask("GET", "/");
    expect([answer.status, answer.text]).toEqual([503, expect.stringContaining("npm install")]);
  });
});
