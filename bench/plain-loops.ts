/**
 * The same conversation without machine and store, two ways.
 *
 * transportLoop  our own model backend and our own toolbox in a bare loop: what is left of a run's time is what the
 *                machine, the journal and the store cost.
 * fetchLoop      what anybody would write first: global `fetch`, JSON, `readFile`.
 *
 * Both either ask for whole answers or for streams.
 */

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { openaiChat } from "../src/adapters/models/openai-chat/openai-chat.ts";
import { PROFILES } from "../src/adapters/models/profile.ts";
import { createToolbox } from "../src/adapters/tools/create-toolbox.ts";
import { fsTools } from "../src/adapters/tools/fs/fs-tools.ts";
import { untrustedMarks } from "../src/adapters/tools/fs/untrusted-marks.ts";
import { openWorkspace } from "../src/adapters/tools/fs/workspace.ts";
import { systemClock } from "../src/boot/system-clock.ts";
import { decodeToolName } from "../src/kernel/protocol/tool-names.ts";
import { USER_LABELS } from "../src/kernel/vocabulary/labels.ts";
import type { ModelBackend, PromptMessage } from "../src/runtime/ports/model-backend.ts";
import type { Toolbox } from "../src/runtime/ports/toolbox.ts";
import type { ChatRequestBody } from "../test/loopback/openai-server.ts";
import { type ChatMessage, readStream } from "./read-stream.ts";

/** Nothing is deleted or edited here. */
const BESIDE = { stateDirectory: "/nonexistent", clock: systemClock };

export type Loop = (turns: number) => Promise<void>;

export async function transportLoop(
  baseUrl: string,
  workspace: string,
  opening: ChatRequestBody,
  isStreamed = false,
): Promise<Loop> {
  const profile = PROFILES["native-tools"];
  const server = { provider: "loop", model: opening.model, baseUrl: new URL(baseUrl) };
  const backend = openaiChat({ ...server, apiKey: () => null, keyName: null, profile, clock: systemClock });
  const place = await openWorkspace(workspace);
  const marks = untrustedMarks(place, BESIDE.stateDirectory);
  const toolbox = createToolbox(fsTools(place, { ...BESIDE, marks }), {
    clock: systemClock,
    onDefect: fail,
  });
  const system = opening.messages.filter(({ role }) => role === "system");
  return async (turns) => {
    const messages: PromptMessage[] = [
      ...system.map(({ content }) => ({ role: "system", content: String(content) }) as const),
      { role: "user", content: `turns=${turns} tool=fs.read_text folder=none-1` },
    ];
    while (await turn(backend, toolbox, messages, isStreamed ? () => {} : null)) {
      // One turn after another.
    }
  };
}

async function turn(
  backend: ModelBackend,
  toolbox: Toolbox,
  messages: PromptMessage[],
  onText: (() => void) | null,
): Promise<boolean> {
  const { signal } = new AbortController();
  const request = { model: "scripted", messages, tools: toolbox.tools, toolChoice: "auto", maxOutputTokens: 2048 };
  const reply = await backend.complete({ ...request, toolChoice: "auto" }, { signal, onText });
  if (!reply.ok) throw new Error(reply.code);
  const calls = reply.raw.toolCalls.map(({ id, name, argumentsText }) => ({
    id: id ?? "",
    tool: decodeToolName(name) ?? name,
    argumentsText,
  }));
  messages.push({ role: "assistant", content: reply.raw.content, toolCalls: calls });
  for (const { id, tool, argumentsText } of calls) {
    const planned = await toolbox.plan(tool, JSON.parse(argumentsText));
    if (!planned.ok) throw new Error(planned.error.message);
    const envelope = await toolbox.run(planned, { ...CONTEXT, signal });
    const { ok, output } = envelope as { readonly ok: boolean; readonly output: unknown };
    messages.push({
      role: "tool",
      callId: id,
      tool,
      content: JSON.stringify({ id, tool, ok, output, error: null }),
    });
  }
  return calls.length > 0;
}

const CONTEXT = {
  requestId: "loop",
  runId: "loop",
  agentId: "main",
  timeoutMs: 10_000,
  idempotencyKey: null,
  isRepeat: false,
  mayAct: true,
  seen: USER_LABELS,
  onOutput: null,
} as const;

interface Completion {
  readonly choices: readonly { readonly message: ChatMessage }[];
}

export function fetchLoop(baseUrl: string, workspace: string, opening: ChatRequestBody, isStreamed = false): Loop {
  const system = opening.messages.filter(({ role }) => role === "system");
  const form = isStreamed ? { stream: true, stream_options: { include_usage: true } } : {};
  return async (turns) => {
    const messages: object[] = [...system, { role: "user", content: `turns=${turns} tool=fs.read_text folder=none-1` }];
    for (;;) {
      const response = await fetch(`${baseUrl}/chat/completions`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ ...opening, ...form, messages }),
      });
      const message = isStreamed
        ? await readStream(response)
        : ((await response.json()) as Completion).choices[0]?.message;
      if (message === undefined) throw new Error("no answer");
      messages.push({ role: "assistant", ...message });
      if (message.tool_calls === undefined) return;
      for (const { id, function: called } of message.tool_calls) {
        const { path } = JSON.parse(called.arguments) as { readonly path: string };
        const text = await readFile(join(workspace, path), "utf8");
        const output = { path, text, bytes: text.length, truncated: false };
        const content = JSON.stringify({ id, tool: "fs.read_text", ok: true, output, error: null });
        messages.push({ role: "tool", tool_call_id: id, content });
      }
    }
  };
}

function fail(error: unknown): never {
  throw error;
}
