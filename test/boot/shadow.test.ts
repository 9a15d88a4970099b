/** The shadow loop over a real home: what is watched becomes a ghost, and a word on it a run. */
import { readFile } from "node:fs/promises";
import { expect, vi } from "vitest";
import { SHADOW_LABELS } from "../../src/assistant/shadow/shadow.ts";
import { verifies } from "../requirements.ts";
import { openShadowHome } from "./shadow-home.ts";

const BROKEN = '{\n  "name": "notes",\n  "tags": ["a", "b",],\n}\n';

verifies(
  ["T-5.2/message", "T-5.2/action"],
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
