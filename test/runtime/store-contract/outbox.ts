/** The store's contract: messages in and out, and the senders of channels. */
import { describe, expect, test } from "vitest";
import { MAX_PENDING_SENDERS } from "../../../src/assistant/delivery/pairing-rules.ts";
import type { RunId } from "../../../src/kernel/vocabulary/identifiers.ts";
import type { DeliveryWrite, NewDelivery, OutboxState } from "../../../src/runtime/ports/stored-delivery.ts";
import { ENDED_AT, fresh } from "../store-samples.ts";
import { expectRefused, type StoreFixture } from "./store-fixture.ts";

const EVERYTHING = { limit: 1000, offset: 0 };
const HOUR_MS = 3_600_000;

function delivery(also: Partial<NewDelivery> = {}): NewDelivery {
  const recipient = { address: "anna", type: "contact" };
  return {
    id: fresh("out"),
    channel: "crm",
    recipient,
    text: "hello",
    runId: null,
    createdAt: ENDED_AT,
    state: "waiting",
    ...also,
  };
}

const inserts = (row: NewDelivery): DeliveryWrite => ({ type: "insert-outbox", delivery: row });

function moves(
  id: string,
  from: OutboxState,
  to: OutboxState,
  also: { problem?: string; nextAtMs?: number } = {},
): DeliveryWrite {
  return { type: "move-outbox", id, from, to, nextAtMs: 0, problem: null, at: ENDED_AT, ...also };
}

function asks(channel: string, senderId: string, also: { code?: string; atMs?: number } = {}): DeliveryWrite {
  const { code = fresh("CODE"), atMs: requestedAtMs = 0 } = also;
  const request = { channel, senderId, senderName: "Anna", code, requestedAtMs, expiresAtMs: requestedAtMs + HOUR_MS };
  return { type: "request-pairing", request };
}

function decidesOn(kind: "pair.accepted" | "pair.denied", channel: string, sender: string): DeliveryWrite {
  return { type: "decide-pairing", draft: { kind, ts: ENDED_AT, actor: "operator", data: { channel, sender } } };
}

export function describeOutbox(fixture: StoreFixture): void {
  const { barrier, insertRun } = fixture;

  describe("inbox", () => {
    test("a message without a run is known by the channel's own id, and taken once", async () => {
      const message = { channel: "crm", messageId: fresh("msg"), state: "answered", receivedAt: ENDED_AT } as const;
      expect(await fixture.store.findInbound("crm", message.messageId)).toBeNull();
      await barrier({ type: "insert-inbox", message });
      expect(await fixture.store.findInbound("crm", message.messageId)).toEqual({ ...message, runId: null });
      expect(await fixture.store.findInbound("other", message.messageId)).toBeNull();
      await expectRefused(barrier({ type: "insert-inbox", message }), "store.conflict");
    });
  });

  describe("outbox", () => {
    const open = async (ids: readonly string[]) =>
      (await fixture.store.openOutbox("crm", EVERYTHING)).filter(({ id }) => ids.includes(id));

    test("a message is open until it is sent, failed or ambiguous", async () => {
      const { runId } = await insertRun();
      const rows = [delivery({ runId }), delivery(), delivery({ state: "waiting_approval" }), delivery()];
      const [first, second, third, fourth] = rows.map(({ id }) => id) as [string, string, string, string];
      await barrier(...rows.map(inserts));
      const fresh = { attempts: 0, nextAtMs: 0, problem: null, isForged: false };
      expect(await open([first, second, third, fourth])).toEqual(rows.map((row) => ({ ...row, ...fresh })));
      await barrier(moves(first, "waiting", "sending"), moves(second, "waiting", "sending"));
      await barrier(
        moves(first, "sending", "sent"),
        moves(second, "sending", "waiting", { problem: "later", nextAtMs: 7 }),
      );
      await barrier(moves(fourth, "waiting", "failed", { problem: "no" }));
      expect((await open([first, second, third, fourth])).map(({ id, state }) => [id, state])).toEqual([
        [second, "waiting"],
        [third, "waiting_approval"],
      ]);
      expect(await fixture.store.findDelivery(second)).toMatchObject({ attempts: 1, nextAtMs: 7, problem: "later" });
      expect(await fixture.store.findDelivery(first)).toMatchObject({ state: "sent", text: null, attempts: 1 });
      const failed = await fixture.store.listOutbox({ state: "failed" }, EVERYTHING);
      expect(failed.map(({ id, text }) => [id, text])).toContainEqual([fourth, "hello"]);
      const all = (await fixture.store.listOutbox({ state: null }, EVERYTHING)).map(({ id }) => id);
      expect(all.indexOf(fourth)).toBeLessThan(all.indexOf(first));
    });

    test("the same message is put in once; another under its id is refused", async () => {
      const row = delivery();
      await barrier(inserts(row));
      await barrier(inserts(row));
      expect(await open([row.id])).toHaveLength(1);
      await expectRefused(barrier(inserts({ ...row, text: "other" })), "store.conflict");
      await expectRefused(barrier(inserts({ ...row, runId: fresh("run") as RunId })), "store.conflict");
    });

    test("a message moves only from the state in which it was seen, and only forward", async () => {
      const { id } = delivery();
      await barrier(inserts(delivery({ id })));
      await expectRefused(barrier(moves("out_none", "waiting", "sending")), "store.conflict");
      await expectRefused(barrier(moves(id, "waiting", "sent")), "store.conflict");
      await barrier(moves(id, "waiting", "sending"));
      await expectRefused(barrier(moves(id, "waiting", "sending")), "store.conflict");
      await barrier(moves(id, "sending", "ambiguous"));
      await expectRefused(barrier(moves(id, "ambiguous", "sending")), "store.conflict");
      await barrier(moves(id, "ambiguous", "sent"));
      await expectRefused(barrier(moves(id, "sent", "waiting")), "store.conflict");
    });
  });

  describe("pairings", () => {
    test("a sender has one code until it expires, and is known once accepted", async () => {
      const channel = fresh("channel");
      await barrier(asks(channel, "anna", { code: `A${channel}` }));
      expect(await fixture.store.findPairingByCode(`A${channel}`)).toMatchObject({
        senderId: "anna",
        state: "pending",
      });
      await expectRefused(barrier(asks(channel, "anna", { atMs: HOUR_MS - 1 })), "store.conflict");
      await barrier(asks(channel, "anna", { code: `B${channel}`, atMs: HOUR_MS }));
      expect(await fixture.store.findPairingByCode(`A${channel}`)).toBeNull();
      const { seq } = await fixture.store.ledgerHead();
      await barrier(decidesOn("pair.accepted", channel, "anna"));
      const accepted = await fixture.store.findPairing(channel, "anna");
      expect(accepted).toMatchObject({ state: "accepted", senderName: "Anna", code: null, decidedBy: "operator" });
      const [entry, recorded] = await fixture.store.readLedger(seq, 10);
      expect(entry).toMatchObject({ kind: "pair.accepted", data: { channel, sender: "anna" } });
      expect(recorded).toMatchObject({ kind: "row.recorded", data: { table: "pairings", rowId: `${channel}:anna` } });
      await expectRefused(barrier(asks(channel, "anna", { atMs: 9 * HOUR_MS })), "store.conflict");
      await barrier(decidesOn("pair.denied", channel, "anna"));
      expect((await fixture.store.findPairing(channel, "anna"))?.state).toBe("denied");
      await barrier(decidesOn("pair.accepted", channel, "bert"));
      const listed = (await fixture.store.listPairings(EVERYTHING)).filter((each) => each.channel === channel);
      expect(listed.map(({ senderId, state }) => [senderId, state])).toEqual([
        ["anna", "denied"],
        ["bert", "accepted"],
      ]);
    });

    test("only so many senders of a channel wait; expired ones make room", async () => {
      const channel = fresh("channel");
      const many = Array.from({ length: MAX_PENDING_SENDERS }, (_, at) => asks(channel, `s${at}`));
      await barrier(...many);
      await expectRefused(barrier(asks(channel, "late")), "store.conflict");
      await barrier(asks(fresh("channel"), "late"));
      await barrier(asks(channel, "late", { atMs: HOUR_MS }));
      expect((await fixture.store.findPairing(channel, "s0")) === null).toBe(true);
    });
  });
}
