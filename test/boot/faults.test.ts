/**
 * A short cut of every fault that `npm run faults` stages, and what those have found. The real process, real SQLite;
 * a failure prints its seed, and `npm run faults -- F1 --seed …` stages it at length.
 */
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { FAULTS } from "../faults/all-faults.ts";
import type { GatewayProcess } from "../faults/gateway-process.ts";
import { buildGatewayProgram, type GatewayProgram } from "../faults/gateway-program.ts";
import { postJob } from "../faults/job.ts";
import { openStage } from "../faults/stage.ts";
import { citedTitle, verifies } from "../requirements.ts";

/** Only against hanging. */
const LIMIT_MS = 300_000;
const SEED = Number(process.env["PROPERTY_SEED"] ?? "1");
const SHOWN: Readonly<Record<string, readonly string[]>> = {
  F1: ["X-2/resume", "X-2/repeats"],
  F2: ["X-2/resume", "X-2/repeats"],
  stop: ["O-5.5/kept", "X-2/resume"],
  F12: ["O-5.5/full", "O-5.5/kept"],
  F14: ["X-4/replay"],
  tamper: ["X-24/files"],
};

let program: GatewayProgram;
beforeAll(async () => {
  program = await buildGatewayProgram();
}, LIMIT_MS);
afterAll(() => program.dispose());

describe("the gateway stands", () => {
  for (const { id, title, unit, shortSize, stage } of FAULTS) {
    const requirement = SHOWN[id];
    test(
      requirement === undefined ? `${id}: ${title}` : citedTitle(requirement, `${id}: ${title}`),
      async () => {
        const staging = { program, seed: SEED, size: shortSize, judgesTime: false, say: () => {} };
        const { problems, notStaged } = await stage(staging);
        expect(notStaged, "see scripts/system-packages.ts").toBeUndefined();
        expect(problems, `seed ${SEED}, --${unit} ${shortSize}`).toEqual([]);
      },
      LIMIT_MS,
    );
  }
});

describe("an effect that was interrupted", () => {
  verifies(
    "X-2",
    "is tried again when somebody says so, and asked about anew when it is interrupted again",
    async () => {
      // Never answered: every life dies in the middle of the effect.
      const stage = await openStage({ program, seed: SEED, effectMs: () => null });
      try {
        const first = await stage.start();
        expect(await postJob(first, { number: 1, letters: "o" })).toMatchObject({ kind: "accepted" });
        await stage.ledger.reaches(1);
        await stage.kill(first);
        const second = await stage.start();
        await resolve(second, "retry");
        await stage.ledger.reaches(2);
        await stage.kill(second);
        const third = await stage.start();
        await resolve(third, "done");
        await stage.kill(third);
        expect(stage.ledger.opaque.get("1/0")).toBe(2);
      } finally {
        await stage.close();
      }
    },
    LIMIT_MS,
  );
});

/** Answers the one question there is. */
async function resolve(gateway: GatewayProcess, decision: "retry" | "done"): Promise<void> {
  const card = await vi.waitFor(
    async () => {
      const reply = await gateway.ask("GET", "/api/approvals");
      expect(reply?.body).toMatchObject({ approvals: [{ kind: "resolve", tool: "test.opaque" }] });
      const { approvals } = (reply?.body ?? {}) as { approvals: [{ id: string; plan_hash: string }] };
      return approvals[0];
    },
    { timeout: 10_000 },
  );
  const reply = await gateway.ask("POST", `/api/approvals/${card.id}`, { decision, plan_hash: card.plan_hash });
  expect(reply?.status).toBe(200);
}
