/**
 * The files of the control UI, as a mount. They are open to everyone the gateway admits, and hold nothing of this home: data
 * comes from operations, which ask for more.
 *
 * C1. Only what `files.json` names is served, from names made at build time: no path of a request becomes one of the disk.
 * C2. A page's address is answered with the one document, so that it can be loaded again; the page itself finds the view.
 * C3. The policy lets in scripts, styles and connections of this origin only, and no script may write markup.
 * C4. Files named by their content are cached for ever, the document never.
 */
import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { Mount, Serve } from "../../runtime/operations/mount.ts";

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "font-src 'self'",
  "connect-src 'self'",
  "worker-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types surety-worker",
].join("; ");
const PROTECTIVE = {
  "content-security-policy": POLICY,
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
};
const DOCUMENT = "index.html";
/** Where a login link leads; it is a page of the document, but none of the menu. */
const LOGIN = "login";
/** The page at `/`; every other page is at its own name. */
const FIRST_PAGE = "now";
const COMPRESSED = /^(?:text\/|image\/svg)/;
const IMMUTABLE = "public, max-age=31536000, immutable";
const NOT_BUILT = "The control UI is not built. Run npm install where Surety is installed, then start it again.\n";

/** As ui/vite-manifest.ts writes it. */
interface Built {
  readonly pages: readonly string[];
  /** Content types by name. */
  readonly files: Readonly<Record<string, string>>;
}

/** `directory` ends in a slash; where nothing is built, the page at `/` says so. */
export function controlUi(directory: URL): Mount {
  const built = readBuilt(directory);
  const pages = (built?.pages ?? []).filter((page) => page !== FIRST_PAGE);
  return {
    paths: ["/", `/${LOGIN}`, "/assets/*", ...pages.flatMap((page) => [`/${page}`, `/${page}/*`] as const)],
    methods: ["GET"],
    scope: "public",
    maxBodyBytes: 0,
    load: () => Promise.resolve(built === null ? serveNothing : serveBuilt(directory, built)),
  };
}

function readBuilt(directory: URL): Built | null {
  try {
    return JSON.parse(readFileSync(new URL("files.json", directory), "utf8")) as Built;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return null;
    throw error;
  }
}

const serveNothing: Serve = () =>
  new Response(NOT_BUILT, { status: 503, headers: { ...PROTECTIVE, "content-type": "text/plain; charset=utf-8" } });

function serveBuilt(directory: URL, { files }: Built): Serve {
  const read = once((name: string) => readFile(new URL(name, directory)));
  const compress = once(async (name: string) => await promisify(gzip)(await read(name)));
  return async (request) => {
    const path = new URL(request.url).pathname.slice(1);
    const isAsset = path.startsWith("assets/");
    const name = isAsset ? path : DOCUMENT;
    const type = Object.hasOwn(files, name) ? files[name] : undefined;
    if (type === undefined) {
      const headers = { ...PROTECTIVE, "content-type": "text/plain; charset=utf-8" };
      return new Response("There is no such file in this version.\n", { status: 404, headers });
    }
    const isCompressed = COMPRESSED.test(type) && /\bgzip\b/.test(request.headers.get("accept-encoding") ?? "");
    const headers = {
      ...PROTECTIVE,
      "content-type": type,
      "cache-control": isAsset ? IMMUTABLE : "no-store",
      vary: "accept-encoding",
      ...(isCompressed ? { "content-encoding": "gzip" } : {}),
    };
    return new Response(await (isCompressed ? compress(name) : read(name)), { headers });
  };
}

/** Each name once; a failure is tried again. */
function once(make: (name: string) => Promise<Uint8Array<ArrayBuffer>>) {
  const made = new Map<string, Promise<Uint8Array<ArrayBuffer>>>();
  return (name: string): Promise<Uint8Array<ArrayBuffer>> => {
    const found = made.get(name);
    if (found !== undefined) return found;
    const making = make(name);
    made.set(name, making);
    making.catch(() => made.delete(name));
    return making;
  };
}
