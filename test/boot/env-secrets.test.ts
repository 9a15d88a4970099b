/** Which values of `.env` redaction learns, and that nothing of them is stored. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { secretsIn } from "../../src/boot/env-secrets.ts";
import { withEnvFile } from "../../src/boot/environment.ts";
import { openHome } from "../../src/boot/home.ts";
import { openSurety } from "../../src/boot/open-surety.ts";
import { systemClock } from "../../src/boot/system-clock.ts";
import { systemRandomness } from "../../src/boot/system-randomness.ts";
import { noApprover } from "../../src/runtime/ports/approver.ts";
import { answer, startOpenAiServer } from "../loopback/openai-server.ts";
import { readOk } from "./config/example-config.ts";
import { temporaryHome } from "./temporary-home.ts";

const valuesIn = (variables: Readonly<Record<string, string>>) =>
  secretsIn(new Map(Object.entries(variables))).map(({ value }) => value);

describe("the secrets in .env", () => {
  test.each([
    ["DB_PASSWORD", "swordfish"],
    ["MY_PASS", "swordfish"],
    ["SMTP_PWD", "correct horse"],
    ["APIKEY", "swordfish"],
    ["GITHUB_TOKEN", "swordfish"],
    ["SOMETHING", "hunter2-hunter2"],
    ["SOMETHING", "A1B2-C3D4-E5F6-G7H8"],
    ["SOMETHING", "9f86d081884c7d65"],
    ["SOMETHING", "550e8400-e29b-41d4-a716-446655440000"],
    ["SOMETHING", "qzXkWvBnTrPl"],
    ["SOMETHING", "xkcdqwzvbnpt"],
    ["SOMETHING", "correct-horse-battery-staple"],
    ["SOMETHING", "tuna-99-in-the-sea"],
    ["SOMETHING", "fox jumps over it"],
    ["SSH_KEY_ID", "9f86d081884c7d65"],
    ["SOMETHING", "49301234567890"],
    ["SOMETHING", "line-one-secret\nline-two-secret"],
  ])("%s=%s", (name, value) => {
    expect(valuesIn({ [name]: value })).toEqual([value]);
  });

  test.each([
    ["DEBUG", "true"],
    ["COUNT", "1"],
    ["LOG_LEVEL", "info"],
    ["LOG_LEVEL", "information"],
    ["NODE_ENV", "production"],
    ["TZ", "Europe/Berlin"],
    ["TZ", "America/Argentina/Buenos_Aires"],
    ["PORT", "19789"],
    ["LANG", "en_US.UTF-8"],
    ["DAY", "2026-11-18T20:00:00Z"],
    ["MODEL", "gpt-4o-mini-2024-07-18"],
    ["MODEL", "kimi-k2-0905-preview"],
    ["REGION", "eu-central-1"],
    ["STAGE", "eu-central-1"],
    ["STAGE", "production-eu"],
    ["PROJECT", "/home/me/projects/surety"],
    ["SSH_KEY_PATH", "/home/me/.ssh/id_ed25519"],
    ["MAIL_FROM", "someone@example.org"],
    ["HOST", "192.168.100.200"],
    ["BASE_URL", "http://localhost:11434/v1"],
    ["AUTH_URL", "https://login.example.org/oauth/authorize"],
    ["DB_PASSWORD", "short"],
    ["EMPTY_TOKEN", ""],
  ])("%s=%s is plain, or too short to be found", (name, value) => {
    expect(valuesIn({ [name]: value })).toEqual([]);
  });

  test.each([
    ["postgresql://app:swordfish@db.example.org/app", ["swordfish"]],
    ["postgresql://app:pw@db.example.org/app", ["app:pw@db.example.org/app"]],
    ["https://hooks.example.org/services/T024BE7LD/B024BE7LH/aZ3kQ9xW", ["T024BE7LD", "B024BE7LH", "aZ3kQ9xW"]],
    ["https://api.example.org/v1?token=9f86d081884c7d65", ["9f86d081884c7d65"]],
  ])("of %s its secret parts", (value, parts) => {
    expect(valuesIn({ DATABASE_URL: value })).toEqual(parts);
  });

  test("are stored nowhere, whatever their names are", async () => {
    const env = {
      DB_PASSWORD: "swordfish_in_the_sea",
      SWORDFISH_IN_THE_SEA: "tuna-99-in-the-sea",
      [`LONG_${"X".repeat(200)}`]: "whale-77-in-the-sea",
      DATABASE_URL: "postgresql://app:herring-in-the-sea@db.example.org/app",
      LOG_LEVEL: "information",
    };
    const said = `Some information: ${Object.values(env).join(" ")}`;
    const server = await startOpenAiServer(() => answer({ text: said }));
    onTestFinished(() => server.close());
    const models = { m: { contextWindow: 32_768, maxOutputTokens: 1024 } };
    const config = readOk(
      JSON.stringify({
        models: { default: "p:m", providers: { p: { baseUrl: server.baseUrl, local: true, models } } },
      }),
    );
    const home = await temporaryHome();
    await openHome(home);
    const lines = Object.entries(env).map(([name, value]) => `${name}=${value}`);
    await writeFile(join(home.directory, ".env"), lines.join("\n"));
    const surety = await openSurety({
      ...{ home, config, clock: systemClock, random: systemRandomness, token: null, approver: noApprover },
      readVariable: await withEnvFile(() => undefined, home.envFile),
      onDefect: (_id, error) => {
        throw error;
      },
    });
    onTestFinished(() => surety.close(1000));
    const submitted = await surety.assistant.submit({
      ...{ agentId: "main", message: said, sessionId: null, model: null, thinkingMode: null, contract: {} },
      ...{ approvedTools: [], source: "test", principal: "tester", idempotencyKey: null },
    });
    if (!submitted.ok) throw new Error(submitted.message);
    for await (const _ of (await surety.assistant.watch(submitted.runId, 0, new AbortController().signal)) ?? []);
    const bundle = await surety.assistant.bundle(submitted.runId);
    const stored = bundle.ok ? bundle.text : "";
    for (const fish of ["swordfish_", "SWORDFISH_", "tuna-99", "whale-77", "herring"])
      expect(stored).not.toContain(fish);
    expect(stored).toContain("Some information: ⟦secret:DB_PASSWORD⟧");
    expect(server.requests.length).toBe(1);
    expect(JSON.stringify(server.requests)).not.toContain("swordfish_in");
  });
});
