/** Messages whose rows another program changed: nothing goes out that journal and ledger do not vouch for. */
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect } from "vitest";
import { verifyHome } from "../../src/assistant/verification/verify-home.ts";
import { verifies } from "../requirements.ts";
import { type ChannelHome, openChannels } from "./open-channels.ts";

const MAIL = { channel: { class: "external_email" } };

function edit({ directory }: ChannelHome, sql: string): void {
  const database = new DatabaseSync(join(directory, "surety.db"));
  database.exec(sql);
  database.close();
}

const verdictOf = ({ surety: { store } }: ChannelHome) => verifyHome({ store, trusted: null, findDamage: () => [] });

/** A message that the receiver said no to, and that is edited before it is sent again. */
async function refusedMessage(): Promise<ChannelHome> {
  const channels = await openChannels();
  channels.receiver.conduct = () => 404;
  await channels.hook({ text: "hello" });
  await channels.outgoing("failed");
  expect(await verdictOf(channels)).toMatchObject({ ok: true });
  channels.receiver.conduct = () => 200;
  return channels;
}

describe("a message in the outbox", () => {
  verifies("P-2.4/email", "that was released without a decision is not sent, and verify names it", async () => {
    const channels = await openChannels(MAIL);
    await channels.hook({ text: "hello" });
    const { id } = await channels.outgoing("waiting_approval");
    expect(await verdictOf(channels)).toMatchObject({ ok: true });
    edit(channels, "UPDATE outbox SET state = 'waiting' WHERE state = 'waiting_approval'");
    expect(await verdictOf(channels)).toMatchObject({
      ok: false,
      findings: [{ code: "row.forged", table: "outbox", rowId: id }],
    });
    channels.surety.delivery.wake();
    expect((await channels.outgoing("failed")).problem).toMatch(/changed outside of surety/);
    expect(channels.receiver.posted).toEqual([]);
    await channels.surety.operations.call("outbox.settle", { id, decision: "retry" });
    await channels.outgoing("waiting_approval");
  });

  for (const [what, change, gone] of [
    ["text", "text = 'Transfer the money.'", []],
    ["recipient", `recipient = '{"address":"eve","type":"contact"}'`, []],
    ["run", "run_id = NULL, text = 'Transfer the money.'", []],
    ["origin", "run_id = NULL, id = 'answer_crm_none', text = 'Transfer the money.'", [{ code: "row.missing" }]],
  ] as const) {
    verifies("X-13", `whose ${what} was changed is not sent, and verify names it`, async () => {
      const channels = await refusedMessage();
      edit(channels, `UPDATE outbox SET state = 'waiting', ${change}`);
      expect(await verdictOf(channels)).toMatchObject({ ok: false, findings: [{ code: "row.forged" }, ...gone] });
      channels.surety.delivery.wake();
      expect((await channels.outgoing("failed")).problem).toMatch(/changed outside of surety/);
      expect(channels.receiver.posted).toHaveLength(1);
    });
  }

  verifies("X-13", "that was sent and is filled with another text is not sent", async () => {
    const channels = await openChannels();
    await channels.hook({ text: "hello" });
    await channels.outgoing("sent");
    edit(
      channels,
      `UPDATE outbox SET state = 'waiting', text = 'Hi.', recipient = '{"address":"eve","type":"contact"}'`,
    );
    channels.surety.delivery.wake();
    await channels.outgoing("failed");
    expect(channels.receiver.posted).toHaveLength(1);
  });

  verifies(
    "X-13",
    "that was sent and is set to wait again is not sent twice, whatever its state was set to",
    async () => {
      const channels = await openChannels();
      await channels.hook({ text: "hello" });
      const { id } = await channels.outgoing("sent");
      for (const state of ["waiting", "sending"]) {
        edit(channels, `UPDATE outbox SET state = '${state}', text = 'Hello Anna.', problem = NULL`);
        expect(await verdictOf(channels)).toMatchObject({ findings: [{ code: "row.forged", rowId: id }] });
        channels.surety.delivery.wake();
        expect((await channels.outgoing("failed")).problem).toMatch(/changed outside of surety/);
      }
      expect(channels.receiver.posted).toHaveLength(1);
    },
  );

  verifies("X-23", "to a stranger says nothing but the code", async () => {
    const channels = await openChannels();
    channels.receiver.conduct = () => 404;
    await channels.hook({ text: "hello", senderId: "eve" });
    await channels.outgoing("failed");
    expect(await verdictOf(channels)).toMatchObject({ ok: true });
    edit(channels, "UPDATE outbox SET state = 'waiting', text = text || ' Transfer the money.'");
    channels.surety.delivery.wake();
    expect((await channels.outgoing("failed")).problem).toMatch(/changed outside of surety/);
    expect(channels.receiver.posted).toHaveLength(1);
  });
});
