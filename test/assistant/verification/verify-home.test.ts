/** A whole home is verified: what an honest one has, and what somebody with SQL took from it. */
import { expect } from "vitest";
import { openSqliteReader } from "../../../src/adapters/store-sqlite/open-sqlite-reader.ts";
import { openHome } from "../../../src/boot/home.ts";
import { main } from "../../../src/boot/main.ts";
import { openSurety } from "../../../src/boot/open-surety.ts";
import { systemClock } from "../../../src/boot/system-clock.ts";
import { systemRandomness } from "../../../src/boot/system-randomness.ts";
import { noApprover } from "../../../src/runtime/ports/approver.ts";
import { capturedStreams } from "../../boot/captured-streams.ts";
import { readOk } from "../../boot/config/example-config.ts";
import { temporaryHome } from "../../boot/temporary-home.ts";
import { verifies } from "../../requirements.ts";

async function verify(directory: string) {
  const streams = capturedStreams();
  const code = await main(["--home", directory, "verify", "--json"], streams, () => undefined);
  return { code, verdict: JSON.parse(streams.written().stdout) };
}

verifies("X-24", "a clean stop signs every open run, also beyond one page of them", async () => {
  const home = await temporaryHome();
  await openHome(home);
  const surety = await openSurety({
    ...{ home, clock: systemClock, random: systemRandomness, token: null, approver: noApprover, workers: 0 },
    config: readOk(JSON.stringify({ gateway: { queue: { max: 2000 } } })),
    readVariable: () => undefined,
    onDefect: (_id, error) => expect.fail(String(error)),
  });
  const submit = () =>
    surety.assistant.submit({
      ...{ agentId: "main", message: "later", model: null, thinkingMode: null, contract: {}, approvedTools: [] },
      ...{ sessionId: null, source: "cli", principal: "operator", idempotencyKey: null },
    });
  const submitted = await Promise.all(Array.from({ length: 1001 }, submit));
  expect(submitted.every(({ ok }) => ok)).toBe(true);
  await surety.close(1000);
  const reader = await openSqliteReader(home.directory);
  const [last] = await reader.readLedger((await reader.ledgerHead()).seq - 1, 1);
  await reader.close();
  expect(last?.kind === "checkpoint.signed" ? last.data.openRuns.length : last).toBe(1001);
  expect(await verify(home.directory)).toMatchObject({ code: 0, verdict: { runs: 1001, findings: [] } });
});
