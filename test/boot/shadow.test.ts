/** The shadow loop over a real home: what is watched becomes a ghost, and a word on it a run. */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { Compile } from "typebox/compile";
import { expect, vi } from "vitest";
import { SHADOW_LABELS } from "../../src/assistant/shadow/shadow.ts";
import { followGhosts } from "../../src/boot/ghost-notices.ts";
import { systemClock } from "../../src/boot/system-clock.ts";
import { OutboundMessageSchema } from "../../src/kernel/journal/views/websocket-messages.ts";
import { answer } from "../loopback/openai-server.ts";
import { verifies } from "../requirements.ts";
import { openShadowHome } from "./shadow-home.ts";
import { openSocketStage } from "./socket-stage.ts";

const BROKEN = '{\n  "name": "notes",\n  "tags": ["a", "b",],\n}\n';

verifies(
  ["T-5.2/message", "T-5.2/action", "T-6/emitted"],
  "a broken file becomes a ghost; its action is a run that asks before it writes",
  async () => {
    const shadow = await openShadowHome();
    const events: unknown[] = [];
    shadow.surety.events.on("shadow.event", (event) => events.push(event));
    shadow.surety.events.on("shadow.ghost", ({ id }) => events.push(id));
    const path = await shadow.write("notes.json", BROKEN);
    const ghost = await shadow.ghost(({ state }) => state === "open");
    expect(ghost).toMatchObject({
      trigger: "file added: notes.json",
      observation: "JSON syntax error on line 3: expected a value.",
      confidence: "high",
      detector: "syntax-error",
      labels: { integrity: "untrusted", confidentiality: "private" },
    });
    expect(ghost.actions.map(({ label, type }) => [label, type])).toEqual([
      ["Fix it", "approve"],
      ["Show it", "custom"],
      ["Dismiss", "dismiss"],
    ]);
    const noticed = { detector: "syntax-error", subject: `syntax ${path}` };
    await vi.waitFor(() => expect(events).toEqual([noticed, ghost.id]));

    const acted = await shadow.act(ghost.id, "Fix it");
    expect(acted).toMatchObject({ ok: true, value: { state: "acted", decided_by: "operator" } });
    const runId = acted.ok ? (acted.value.run_id as string) : "";
    const [card] = await shadow.questions();
    expect(card).toMatchObject({ run_id: runId, tool: "fs.write_text", labels: SHADOW_LABELS });
    expect(await readFile(path, "utf8")).toBe(BROKEN);
    await shadow.answer(card, "allow");
    expect(await shadow.ended(runId)).toMatchObject({ outcome: "COMPLETED_WITH_TOOLS" });
    expect(JSON.parse(await readFile(path, "utf8"))).toEqual({ name: "notes", tags: ["a", "b"] });
    expect((await shadow.ghosts()).map(({ state, run_id }) => [state, run_id])).toEqual([["acted", runId]]);
    // A second press is the same run; another word on it is refused.
    expect(await shadow.act(ghost.id, "approve")).toMatchObject({ ok: true, value: { run_id: runId } });
    expect(await shadow.act(ghost.id, "dismiss")).toMatchObject({ ok: false, code: "conflict" });
    expect(shadow.defects).toEqual([]);
  },
);

verifies(["T-1.1", "T-5.2/message"], "a ghost comes over the WebSocket, and over HTTP", async () => {
  const stage = await openSocketStage(() => answer({ text: "Hello." }), { shadow: { enabled: true } });
  stage.surety.shadow.start();
  const client = await stage.dial();
  const isMessage = Compile(OutboundMessageSchema);
  await vi.waitFor(
    async () => {
      await writeFile(join(stage.workspace, "notes.json"), `${BROKEN}${" ".repeat(client.said.length)}`);
      expect(client.said.map(({ type }) => type)).toContain("shadow.ghost");
    },
    { timeout: 20_000, interval: 500 },
  );
  const message = await client.untilType("shadow.ghost");
  expect(isMessage.Check(message)).toBe(true);
  const { json } = await stage.ask("GET", "/api/ghosts?state=open");
  expect(json).toEqual({ ghosts: [message.payload["ghost"]] });
  const [ghost] = json["ghosts"] as readonly { readonly id: string }[];
  const dismissed = await stage.ask("POST", `/api/ghosts/${ghost?.id}`, { action: "dismiss" });
  expect(dismissed).toMatchObject({ status: 200, json: { state: "dismissed", run_id: null } });
  expect((await stage.ask("POST", `/api/ghosts/${ghost?.id}`, { action: "approve" })).status).toBe(409);
  expect((await stage.ask("POST", "/api/ghosts/ghost_0", { action: "dismiss" })).status).toBe(404);
  expect(stage.model.requests).toHaveLength(0);
});

verifies("T-5.2/action", "a plan that another program has changed starts no run", async () => {
  const shadow = await openShadowHome();
  await shadow.write("notes.json", BROKEN);
  const { id } = await shadow.ghost(({ state }) => state === "open");
  const database = new DatabaseSync(shadow.home.database);
  database.exec("UPDATE ghosts SET actions = replace(actions, 'Overwrite', 'Delete')");
  database.close();
  expect(await shadow.act(id, "Fix it")).toMatchObject({ ok: false, code: "conflict" });
  const runs = await shadow.surety.operations.call("runs.list", {});
  expect(runs.ok && runs.value.total).toBe(0);
});

verifies("T-5.2/message", "a terminal says once what was noticed, and how to act", async () => {
  const shadow = await openShadowHome();
  const leaving = new AbortController();
  const lines: string[] = [];
  const parts = { clock: systemClock, signal: leaving.signal, say: (line: string) => lines.push(line) };
  const following = followGhosts(shadow.surety.operations, parts);
  await shadow.write("notes.json", BROKEN);
  const { id } = await shadow.ghost(({ state }) => state === "open");
  await vi.waitFor(() => expect(lines).toHaveLength(3), { timeout: 10_000, interval: 20 });
  expect(lines).toEqual([
    "file added: notes.json",
    "  JSON syntax error on line 3: expected a value. Should I fix it? You see the change first.",
    `  surety shadow act ${id} "Fix it" | "Show it", or surety shadow dismiss ${id}`,
  ]);
  leaving.abort();
  await following;
});
