/** A command that changed what it works on, was cut off by a kill, and is to be tried again: real gateways, a real shell. */
import { mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, vi } from "vitest";
import { type GatewayProcess, startGateway } from "../faults/gateway-process.ts";
import { answer, startOpenAiServer } from "../loopback/openai-server.ts";
import { verifies } from "../requirements.ts";
import { temporaryDirectory } from "./temporary-home.ts";

const ENTRY = join(import.meta.dirname, "../../src/boot/surety.ts");
const PATIENCE = { timeout: 20_000, interval: 50 };
/** The first time it does half of its work and hangs. */
const JOB = "if [ -e out.txt ]; then echo again >> out.txt; else echo half > out.txt; sleep 600; fi\n";

interface Card {
  readonly id: string;
  readonly kind: string;
  readonly plan_hash: string;
  readonly why: string;
}

verifies(
  "X-2",
  "a retry that would do something else now is asked about by its new plan, over a restart too; the first attempt is called unknown",
  async () => {
    const server = await startOpenAiServer(({ body }) =>
      body.messages.at(-1)?.role === "tool"
        ? answer({ text: "Done." })
        : answer({ calls: [{ name: "shell.exec", arguments: { cmd: "sh job.sh" } }] }),
    );
    onTestFinished(() => server.close());
    const home = join(await temporaryDirectory(), "home");
    const workspace = join(home, "workspace");
    await mkdir(workspace, { recursive: true, mode: 0o700 });
    await writeFile(join(workspace, "job.sh"), JOB);
    const models = { m: { contextWindow: 32_768, maxOutputTokens: 1024 } };
    const config = {
      tools: { shell: { allow: ["sh"] } },
      models: { default: "loop:m", providers: { loop: { baseUrl: server.baseUrl, local: true, models } } },
    };
    await writeFile(join(home, "surety.json5"), JSON.stringify(config));
    const start = async (): Promise<GatewayProcess> => {
      const gateway = await startGateway([process.execPath, ENTRY, "--home", home, "start", "--port", "0"]);
      onTestFinished(async () => {
        if (!gateway.isGone) await gateway.kill();
      });
      return gateway;
    };
    const asks = (gateway: GatewayProcess, kind: string): Promise<Card> =>
      vi.waitFor(async () => {
        const reply = await gateway.ask("GET", "/api/approvals");
        expect(reply?.body).toMatchObject({ approvals: [{ kind, tool: "shell.exec" }] });
        return (reply as { readonly body: { readonly approvals: readonly [Card] } }).body.approvals[0];
      }, PATIENCE);
    const tell = async (gateway: GatewayProcess, { id, plan_hash }: Card, decision: string): Promise<void> => {
      const reply = await gateway.ask("POST", `/api/approvals/${id}`, { decision, plan_hash });
      expect(reply?.status).toBe(200);
    };

    const first = await start();
    const posted = await first.ask("POST", "/v1/runs", { agent_id: "main", message: "do the job" });
    const { id } = (posted as { readonly body: { readonly id: string } }).body;
    const planned = await asks(first, "approve");
    await tell(first, planned, "allow");
    await vi.waitFor(() => stat(join(workspace, "out.txt")), PATIENCE);
    await first.kill();

    const second = await start();
    const doubtful = await asks(second, "resolve");
    expect(doubtful.plan_hash).toBe(planned.plan_hash);
    await tell(second, doubtful, "retry");
    const changed = await asks(second, "approve");
    expect(changed.plan_hash).not.toBe(planned.plan_hash);
    expect(changed.why).toContain("The first attempt was cut off, and what it did is unknown.");
    await second.kill();

    const third = await start();
    expect(await asks(third, "approve")).toEqual(changed);
    await tell(third, changed, "allow");
    const record = await vi.waitFor(async () => {
      const reply = await third.ask("GET", `/v1/runs/${id}`);
      expect(reply?.body).toMatchObject({ status: "completed" });
      return reply?.body;
    }, PATIENCE);
    expect(record).toMatchObject({ outcome: "COMPLETED_WITH_TOOLS", tool_calls: 1 });
    expect(await readFile(join(workspace, "out.txt"), "utf8")).toBe("half\nagain\n");
    const bundle = await third.ask("GET", `/v1/runs/${id}/bundle`);
    expect(bundle?.status).toBe(200);
    await third.stop();
  },
  120_000,
);
