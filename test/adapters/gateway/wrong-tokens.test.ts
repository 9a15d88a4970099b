import { describe, expect, test } from "vitest";
import { WrongTokens } from "../../../src/adapters/gateway/wrong-tokens.ts";
import { ManualClock } from "./manual-clock.ts";
import { AUTHORIZED, errorOf, type RunningGateway, startGateway } from "./running-gateway.ts";

const FREE = 10;
const WRONG = { authorization: "Bearer wrong-horse-battery-staple" };

const guess = (gateway: RunningGateway) => gateway.ask("GET", "/v1/runs", { headers: WRONG });

async function guessUntilRefused(gateway: RunningGateway): Promise<void> {
  for (let tries = 0; tries < FREE; tries += 1) expect((await guess(gateway)).status).toBe(401);
}

describe("wrong tokens", () => {
  test("again and again are a 429 that says how long to wait, twice as long each time, up to a minute", async () => {
    const gateway = await startGateway();
    await guessUntilRefused(gateway);
    for (const seconds of [1, 2, 4, 8, 16, 32, 60, 60]) {
      const answer = await guess(gateway);
      expect([answer.status, errorOf(answer).code]).toEqual([429, "auth.rate_limited"]);
      expect(answer.headers["retry-after"]).toBe(String(seconds));
      gateway.clock.advance(seconds * 1000 - 1);
      expect((await guess(gateway)).headers["retry-after"]).toBe("1");
      gateway.clock.advance(1);
      expect((await guess(gateway)).status).toBe(401);
    }
  });

  test("do not hold up the right one, which does not forgive them either", async () => {
    const gateway = await startGateway();
    await guessUntilRefused(gateway);
    expect((await gateway.ask("GET", "/v1/runs", { headers: AUTHORIZED })).status).toBe(200);
    expect((await guess(gateway)).status).toBe(429);
    const runId = await gateway.queueRun();
    expect(runId).toBe("run_1");
    expect((await gateway.ask("GET", "/healthz")).status).toBe(200);
  });

  test("are forgotten after ten minutes without one", async () => {
    const gateway = await startGateway();
    await guessUntilRefused(gateway);
    gateway.clock.advance(600_000);
    await guessUntilRefused(gateway);
    expect((await guess(gateway)).status).toBe(429);
  });

  test("are told from a missing one, and from a Host or Origin that is refused", async () => {
    const gateway = await startGateway();
    for (let tries = 0; tries < 2 * FREE; tries += 1) {
      expect((await gateway.ask("GET", "/v1/runs")).status).toBe(401);
      for (const headers of [{ host: "evil.test" }, { origin: "https://evil.test" }]) {
        expect((await gateway.ask("GET", "/v1/runs", { headers: { ...WRONG, ...headers } })).status).toBe(403);
      }
    }
    await guessUntilRefused(gateway);
  });

  test("of this machine count together, whatever loopback address it sends from", () => {
    const wrong = new WrongTokens(new ManualClock());
    for (let tries = 1; tries <= FREE; tries += 1) expect(wrong.add(`127.0.${tries}.1`)).toBe(0);
    for (const address of ["127.0.0.1", "127.255.255.254", "::ffff:127.9.9.9"]) {
      expect(wrong.add(address)).toBeGreaterThan(0);
    }
  });

  test("of one address are not another's; those of one IPv6 network are", () => {
    const wrong = new WrongTokens(new ManualClock());
    const isHeldUp = (address: string): boolean => wrong.add(address) > 0;
    for (let tries = 0; tries < FREE; tries += 1) {
      for (const address of ["192.0.2.1", `2001:db8::${tries + 1}`, "::1"]) expect(isHeldUp(address)).toBe(false);
    }
    expect(["192.0.2.1", "::ffff:192.0.2.1", "2001:db8:0:0:ffff::9", "::1"].map(isHeldUp)).toEqual(Array(4).fill(true));
    expect(["192.0.2.2", "2001:db8:0:1::1", "fe80::1%eth0"].map(isHeldUp)).toEqual(Array(3).fill(false));
  });

  test("of very many addresses: those that were wrong longest ago are forgotten", () => {
    const wrong = new WrongTokens(new ManualClock());
    const block = (address: string): void => {
      for (let tries = 0; tries < FREE; tries += 1) wrong.add(address);
    };
    block("10.0.0.1");
    for (let host = 0; host < 1_000; host += 1) block(`10.1.${host >> 8}.${host & 255}`);
    expect([wrong.add("10.1.3.231") > 0, wrong.add("10.0.0.1")]).toEqual([true, 0]);
  });
});
