import { describe, expect, test } from "vitest";
import { withDeclaredAbilities } from "../../../src/runtime/model/declared-abilities.ts";
import type { ModelRequest } from "../../../src/runtime/ports/model-backend.ts";
import { says, scriptedModel } from "../trial/scripted-model.ts";

const ABLE = { supportsTools: true, supportsStreaming: true, holdsToolChoice: true };
const TOOL = { name: "fs.read_text", description: "reads", parameters: {} };
const REQUEST: ModelRequest = {
  model: "m",
  messages: [{ role: "user", content: "read it" }],
  tools: [TOOL],
  toolChoice: "required",
  maxOutputTokens: 100,
};

async function ask(declared: Partial<typeof ABLE>, profileId = "native-tools") {
  const scripted = scriptedModel(() => says("a whole answer"));
  const inner = { ...scripted, profile: { ...scripted.profile, id: profileId } };
  const { backend, profile } = withDeclaredAbilities(inner, { ...ABLE, ...declared });
  const heard: string[] = [];
  const watch = { signal: new AbortController().signal, onText: (text: string) => heard.push(text) };
  const reply = await backend.complete(REQUEST, watch);
  return { profile, heard, reply, sent: scripted.requests[0]?.request };
}

describe("a model that was declared", () => {
  test("able to do everything is asked for everything", async () => {
    const { profile, heard, sent } = await ask({});
    expect(sent).toBe(REQUEST);
    expect(profile).toMatchObject({ supportsTools: true, holdsRequired: true });
    expect(heard.length).toBeGreaterThan(1);
  });

  test("to have no tools is offered none, and cannot be held to any", async () => {
    const { profile, sent } = await ask({ supportsTools: false });
    expect(sent).toMatchObject({ tools: [], toolChoice: "none" });
    expect(profile).toMatchObject({ supportsTools: false, holdsRequired: false });
  });

  test("to have no tools calls them in its text, where its profile says so", async () => {
    const { profile, sent } = await ask({ supportsTools: false, holdsToolChoice: false }, "marker-json");
    expect(sent).toBe(REQUEST);
    expect(profile).toMatchObject({ supportsTools: true });
  });

  test("at a service that cannot be made to call a tool is asked, not made", async () => {
    const { profile, sent } = await ask({ holdsToolChoice: false });
    expect(sent).toEqual({ ...REQUEST, toolChoice: "auto" });
    expect(profile).toMatchObject({ supportsTools: true, holdsRequired: false });
  });

  test("unable to stream is heard once, at the end", async () => {
    const { heard, reply } = await ask({ supportsStreaming: false });
    expect(heard).toEqual(["a whole answer"]);
    expect(reply.ok).toBe(true);
  });
});
