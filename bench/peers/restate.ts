/** Restate: its server beside us, a handler with one journaled step a turn. */
import { spawn } from "node:child_process";
import { createServer } from "node:net";
import { join } from "node:path";
import { loaderFrom, measurePeer, promptFor, readNote, SYSTEM } from "./agent-loop.ts";

interface Context {
  run<Result>(name: string, work: () => Promise<Result>): Promise<Result>;
}
interface Sdk {
  service(definition: object): object;
  serve(options: object): Promise<number>;
}
interface Message {
  readonly role: string;
  readonly content: string | null;
  readonly tool_calls?: readonly { readonly id: string; readonly function: { readonly arguments: string } }[];
}

await measurePeer(async (setting) => {
  const { service, serve } = (await loaderFrom(setting.packages)("@restatedev/restate-sdk")) as Sdk;
  const [ingress, admin, handlers, node] = await Promise.all([freePort(), freePort(), freePort(), freePort()]);
  await startServer(setting.packages, setting.scratch, ingress, admin, node);
  const ask = async (messages: readonly object[]): Promise<Message> => {
    const response = await fetch(`${setting.baseUrl}/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ model: "scripted", messages, stream: false }),
    });
    const { choices } = (await response.json()) as { readonly choices: readonly { readonly message: Message }[] };
    const message = choices[0]?.message;
    if (message === undefined) throw new Error("no answer");
    return message;
  };
  const turn = async (messages: readonly object[]): Promise<readonly object[]> => {
    const message = await ask(messages);
    const results = (message.tool_calls ?? []).map(async ({ id, function: called }) => {
      const { path } = JSON.parse(called.arguments) as { readonly path: string };
      return { role: "tool", tool_call_id: id, content: await readNote(setting, path) };
    });
    return [message, ...(await Promise.all(results))];
  };
  const agent = service({
    name: "agent",
    handlers: {
      chat: async (context: Context, turns: number) => {
        const messages: object[] = [
          { role: "system", content: SYSTEM },
          { role: "user", content: promptFor(turns) },
        ];
        for (let count = 1; ; count += 1) {
          const said = await context.run(`turn ${count}`, () => turn(messages));
          messages.push(...said);
          if (said.length === 1) return "done";
        }
      },
    },
  });
  await serve({ services: [agent], port: handlers });
  await post(`http://127.0.0.1:${admin}/deployments`, { uri: `http://127.0.0.1:${handlers}` });
  return (turns) => post(`http://127.0.0.1:${ingress}/agent/chat`, turns);
});

async function post(url: string, body: unknown): Promise<void> {
  const headers = { "content-type": "application/json" };
  const response = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
  const text = await response.text();
  if (!response.ok) throw new Error(`${response.status} ${text.slice(0, 200)}`);
}

async function startServer(packages: string, scratch: string, ingress: number, admin: number, node: number) {
  // The program itself: npm's own starter for it would leave it behind when it is ended.
  const platform = `restate-server-${process.platform}-${process.arch}`;
  const binary = join(packages, "node_modules", "@restatedev", platform, "bin", "restate-server");
  const server = spawn(binary, ["--base-dir", scratch], {
    stdio: "ignore",
    env: {
      ...process.env,
      RESTATE_INGRESS__BIND_ADDRESS: `127.0.0.1:${ingress}`,
      RESTATE_ADMIN__BIND_ADDRESS: `127.0.0.1:${admin}`,
      RESTATE_BIND_ADDRESS: `127.0.0.1:${node}`,
      RESTATE_ADVERTISED_ADDRESS: `http://127.0.0.1:${node}`,
    },
  });
  process.on("exit", () => server.kill("SIGKILL"));
  const deadline = performance.now() + 30_000;
  while (performance.now() < deadline) {
    const isUp = await fetch(`http://127.0.0.1:${admin}/health`).then(
      ({ ok }) => ok,
      () => false,
    );
    if (isUp) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error("the server did not come up");
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0));
    });
  });
}
