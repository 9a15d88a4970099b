/** The store's contract: capabilities. */
import { describe, expect, test } from "vitest";
import { MAX_PENDING_CAPABILITIES } from "../../../src/kernel/protocol/checkpoint-state.ts";
import { asSessionId, type SessionId } from "../../../src/kernel/vocabulary/identifiers.ts";
import type { Store, Write } from "../../../src/runtime/ports/store.ts";
import { asksFor, fresh, grants, takes } from "../store-samples.ts";
import { expectRefused, type StoreFixture, wholeLedger } from "./store-fixture.ts";

export function describeCapabilities(fixture: StoreFixture): void {
  const { barrier, insertRun } = fixture;
  describe("capabilities", () => {
    const standing = async (sessionId: SessionId) =>
      Object.fromEntries(
        (await fixture.store.capabilitiesOf(sessionId)).map(({ capability, state }) => [capability, state]),
      );
    const saidOf = async (sessionId: SessionId) =>
      (await wholeLedger(fixture.store)).filter(({ data }) => "sessionId" in data && data.sessionId === sessionId);

    test("each capability has its last state, with actor, time and expiry", async () => {
      const { sessionId, runId } = await insertRun();
      const expiresAt = "2026-11-16T00:00:00.000Z";
      await barrier(asksFor(sessionId, "net:b.example", runId), grants(sessionId, "net:a.example", { expiresAt }));
      const at = "2026-11-15T00:00:00.000Z";
      expect(await fixture.store.capabilitiesOf(sessionId)).toEqual([
        { capability: "net:a.example", state: "granted", by: "operator", at, expiresAt, runId: null },
        { capability: "net:b.example", state: "pending", by: "model", at, expiresAt: null, runId },
      ]);
      await barrier(
        takes("capability.denied", sessionId, "net:b.example"),
        takes("capability.revoked", sessionId, "net:a.example"),
      );
      expect(await standing(sessionId)).toEqual({ "net:a.example": "revoked", "net:b.example": "denied" });
      expect((await saidOf(sessionId)).map(({ kind }) => kind)).toEqual([
        "capability.requested",
        "capability.granted",
        "capability.denied",
        "capability.revoked",
      ]);
    });

    test("requests and states are listed over all sessions, the oldest request first", async () => {
      const [one, other] = [await insertRun(), await insertRun()];
      const isOurs = ({ sessionId }: { readonly sessionId: SessionId }) =>
        [one, other].some((run) => run.sessionId === sessionId);
      const PAGE = { limit: 1000, offset: 0 };
      const named = (known: Awaited<ReturnType<Store["allCapabilities"]>>) =>
        known.filter(isOurs).map(({ sessionId, capability, state }) => [sessionId, capability, state]);
      await barrier(asksFor(other.sessionId, "net:z.example", other.runId));
      await barrier(asksFor(one.sessionId, "net", one.runId), asksFor(one.sessionId, "net:b.example", one.runId));
      await barrier(takes("capability.denied", one.sessionId, "net"), grants(other.sessionId, "net"));
      const pending = await fixture.store.pendingCapabilities(PAGE);
      expect(named(pending)).toEqual([
        [other.sessionId, "net:z.example", "pending"],
        [one.sessionId, "net:b.example", "pending"],
      ]);
      expect(pending.find(isOurs)).toEqual({
        sessionId: other.sessionId,
        ...(await fixture.store.capabilitiesOf(other.sessionId)).find(({ state }) => state === "pending"),
      });
      expect(await fixture.store.pendingCapabilities({ limit: 1, offset: pending.length - 1 })).toEqual(
        pending.slice(-1),
      );
      expect(named(await fixture.store.grantedCapabilities(PAGE))).toEqual([[other.sessionId, "net", "granted"]]);
      const all = await fixture.store.allCapabilities(PAGE);
      expect(named(all)).toEqual([
        [one.sessionId, "net", "denied"],
        [one.sessionId, "net:b.example", "pending"],
        [other.sessionId, "net", "granted"],
        [other.sessionId, "net:z.example", "pending"],
      ]);
      expect(await fixture.store.allCapabilities({ limit: 2, offset: all.length - 2 })).toEqual(all.slice(-2));
    });

    test("a request changes nothing that is granted or pending, and has one ledger entry", async () => {
      const { sessionId, runId } = await insertRun();
      const expiresAt = "2026-11-16T00:00:00.000Z";
      await barrier(grants(sessionId, "net"), grants(sessionId, "net:a.example", { expiresAt }));
      await barrier(...["net", "net:a.example", "net:b.example", "net:b.example"].map(asking));
      expect(await standing(sessionId)).toEqual({
        net: "granted",
        "net:a.example": "granted",
        "net:b.example": "pending",
      });
      expect(await saidOf(sessionId)).toHaveLength(3);
      await barrier(asksFor(sessionId, "net:a.example", runId, expiresAt));
      expect(await standing(sessionId)).toMatchObject({ "net:a.example": "pending" });

      function asking(capability: string): Write {
        return asksFor(sessionId, capability, runId);
      }
    });

    test("at most MAX_PENDING_CAPABILITIES requests are pending per session", async () => {
      const { sessionId, runId } = await insertRun();
      const many = Array.from({ length: MAX_PENDING_CAPABILITIES + 5 }, (_, index) => `net:h${index}.example`);
      await barrier(...many.map((capability) => asksFor(sessionId, capability, runId)));
      expect(await fixture.store.capabilitiesOf(sessionId)).toHaveLength(MAX_PENDING_CAPABILITIES);
      expect(await saidOf(sessionId)).toHaveLength(MAX_PENDING_CAPABILITIES);
    });

    test("a decision counts once, whatever happened since", async () => {
      const { sessionId } = await insertRun();
      const granting = grants(sessionId, "net");
      await barrier(granting);
      await barrier(takes("capability.revoked", sessionId, "net"));
      await expectRefused(barrier(granting), "store.conflict");
      expect(await standing(sessionId)).toEqual({ net: "revoked" });
      expect(await saidOf(sessionId)).toHaveLength(2);
    });

    test("only pending requests are denied and only grants revoked, and only in existing sessions", async () => {
      const { sessionId, runId } = await insertRun();
      await barrier(grants(sessionId, "net:a.example"), asksFor(sessionId, "net:b.example", runId));
      const nowhere = asSessionId(fresh("ses"));
      for (const write of [
        takes("capability.denied", sessionId, "net:a.example"),
        takes("capability.revoked", sessionId, "net:b.example"),
        takes("capability.denied", sessionId, "net"),
        takes("capability.revoked", sessionId, "net"),
        grants(nowhere, "net"),
        asksFor(nowhere, "net", runId),
      ]) {
        await expectRefused(barrier(write), "store.conflict");
      }
      expect(await standing(sessionId)).toEqual({ "net:a.example": "granted", "net:b.example": "pending" });
      expect(await fixture.store.capabilitiesOf(nowhere)).toEqual([]);
    });
  });
}
