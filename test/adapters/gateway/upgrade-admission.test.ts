/** Who may open a socket: the same Host, Origin and token as of a request, the token in a header or a subprotocol. */
import { expect, test } from "vitest";
import { createAdmission } from "../../../src/adapters/gateway/admission.ts";
import type { Head } from "../../../src/adapters/gateway/read-head.ts";
import { SessionCookie } from "../../../src/adapters/gateway/session-cookie.ts";
import { ManualClock } from "./manual-clock.ts";
import { MemoryAssistant } from "./memory-assistant.ts";
import { TOKEN } from "./running-gateway.ts";

const SOCKET = { localAddress: "127.0.0.1", remoteAddress: "127.0.0.1" };
const UPGRADE = { host: "127.0.0.1:19789", upgrade: "websocket" } as const;

const codeOf = (head: Head): unknown => {
  const { access: credentials } = new MemoryAssistant();
  const cookie = new SessionCookie(false);
  const rules = {
    credentials,
    cookie,
    sites: () => ({ allowedHosts: [], allowedOrigins: [] }),
    proxy: null,
    listenHost: "127.0.0.1",
    clock: new ManualClock(),
  };
  try {
    const { principal, sender } = createAdmission(rules).admit(head, SOCKET);
    return [principal, sender];
  } catch (error) {
    return (error as { readonly code: string }).code;
  }
};

test.each<[string, Head, unknown]>([
  ["a header", { ...UPGRADE, authorization: `Bearer ${TOKEN}` }, ["operator", null]],
  ["a subprotocol", { ...UPGRADE, "sec-websocket-protocol": `surety, surety.bearer.${TOKEN}` }, ["operator", null]],
  ["a wrong subprotocol", { ...UPGRADE, "sec-websocket-protocol": "surety.bearer.x" }, "auth.required"],
  ["none", UPGRADE, "auth.required"],
  ["no upgrade", { host: UPGRADE.host, "sec-websocket-protocol": `surety.bearer.${TOKEN}` }, "auth.required"],
  [
    "both, the header wrong",
    { ...UPGRADE, authorization: "Bearer x", "sec-websocket-protocol": `surety.bearer.${TOKEN}` },
    "auth.required",
  ],
  [
    "a page of another origin",
    { ...UPGRADE, origin: "https://evil.test", authorization: `Bearer ${TOKEN}` },
    "auth.forbidden",
  ],
  [
    "a rebound name",
    { ...UPGRADE, host: "evil.test", "sec-websocket-protocol": `surety.bearer.${TOKEN}` },
    "auth.forbidden",
  ],
])("an upgrade with its token in %s", (_, head, expected) => {
  expect(codeOf(head)).toEqual(expected);
});

test("a cookie opens a socket for a page of the gateway, and for no other client", async () => {
  const { access } = new MemoryAssistant();
  const entered = await access.logIn(access.newCode().code, "Test/1.0", "operator");
  const cookie = new SessionCookie(false);
  const rules = { cookie, sites: () => ({ allowedHosts: [], allowedOrigins: ["https://other.test"] }), proxy: null };
  const admission = createAdmission({
    ...rules,
    ...{ credentials: access, listenHost: "127.0.0.1", clock: new ManualClock() },
  });
  const socket = { ...SOCKET, localPort: 19789 };
  const admit = (more: Head) => {
    try {
      return admission.admit({ ...UPGRADE, cookie: `a=b; surety_19789=${entered?.secret}`, ...more }, socket).principal;
    } catch (error) {
      return (error as { readonly code: string }).code;
    }
  };
  expect(admit({ origin: "http://127.0.0.1:19789" })).toBe("operator");
  const refused: readonly Head[] = [
    {},
    { origin: "http://127.0.0.1:8080" },
    { origin: "null" },
    { origin: "https://other.test" },
    { origin: "http://127.0.0.1:19789", "sec-fetch-site": "same-site" },
  ];
  expect(refused.map(admit)).toEqual(refused.map(() => "auth.forbidden"));
  expect(admit({ origin: "http://127.0.0.1:19789", cookie: `surety_19790=${entered?.secret}` })).toBe("auth.required");
});
