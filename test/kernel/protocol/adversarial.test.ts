/** The fixture's attacks on parsing, each by its name. What is not about parsing is left to the surfaces it attacks. */

import { describe, expect, test } from "vitest";
import { adapterFor } from "../../../src/kernel/protocol/adapter-for.ts";
import { applyNotes, EMPTY_CHECKPOINT, grantCapability } from "../../../src/kernel/protocol/checkpoint-state.ts";
import { escapeMarkers } from "../../../src/kernel/protocol/escape-markers.ts";
import { readNotes } from "../../../src/kernel/protocol/notes.ts";
import type { AdapterMode, ProtocolAdapterResult } from "../../../src/kernel/protocol/protocol-adapter.ts";
import { hashRawOutput } from "../../../src/kernel/protocol/raw-model-output.ts";
import { markerStripper } from "../../../src/kernel/protocol/release/marker-stripper.ts";
import { scanBlocks } from "../../../src/kernel/protocol/scan-blocks.ts";
import { isToolName } from "../../../src/kernel/protocol/tool-names.ts";
import { type Capability, parseCapability } from "../../../src/kernel/vocabulary/capability.ts";
import adversarial from "../../fixtures/adversarial.json" with { type: "json" };
import { verifies } from "../../requirements.ts";
import { inheritsNothing } from "../vocabulary/inherits-nothing.ts";
import { rawOutput, toolBlock } from "./raw-output.ts";
import { decoded, everyPartition, pass } from "./release/every-cut.ts";

interface Attack {
  readonly class: string;
  readonly name: string;
  readonly input: unknown;
}

function inputOf<Input>(kind: string, name: string): Input {
  const found = (adversarial as readonly Attack[]).filter((each) => each.class === kind && each.name === name);
  expect(found, `${kind}/${name}`).toHaveLength(1);
  return found[0]?.input as Input;
}

const MODES: readonly AdapterMode[] = ["strict", "lenient"];

function adaptText(content: string, mode: AdapterMode, version = "marker-json@2"): ProtocolAdapterResult {
  const adapter = adapterFor(version);
  if (adapter === null) throw new Error(version);
  return adapter.adapt(rawOutput({ content }), mode);
}

function notesOf(content: string) {
  const notes = readNotes(scanBlocks(content));
  if (notes?.status !== "parsed") throw new Error("expected parsed notes");
  return notes;
}

describe("marker_protocol", () => {
  test.each([
    ["dup_ids", "protocol.duplicate-id"],
    ["dup_json_keys", "protocol.duplicate-key"],
    ["end_before_begin", "protocol.unmatched-end"],
    ["non_array", "protocol.not-an-array"],
    ["notes_inside_tool_block", "protocol.notes-in-tool-block"],
    ["trailing_garbage", "protocol.trailing-garbage"],
    ["two_blocks", "protocol.several-blocks"],
    // Its begin is a look-alike and so text; its end is a marker, and one without a begin.
    ["zero_width_marker", "protocol.unmatched-end"],
  ])("[S-3.1][M-4.2] %s is rejected as %s, with neither calls nor notes", (name, failureCode) => {
    const { assistant } = inputOf<{ assistant: string }>("marker_protocol", name);
    for (const mode of MODES) {
      expect(adaptText(assistant, mode)).toMatchObject({
        status: "rejected",
        failureCode,
        canonicalMessage: null,
        notes: null,
      });
    }
  });

  test("code_fence: a block in a fence is a block", () => {
    const { assistant } = inputOf<{ assistant: string }>("marker_protocol", "code_fence");
    expect(adaptText(assistant, "strict")).toMatchObject({
      status: "native",
      canonicalMessage: {
        content: "Example:\n```\n\n```",
        toolCalls: [{ id: "t1", name: "shell.exec", arguments: { cmd: "id" } }],
      },
    });
  });

  test("extra_args: arguments go on as they are, for the tool's schema to refuse", () => {
    const { assistant } = inputOf<{ assistant: string }>("marker_protocol", "extra_args");
    expect(adaptText(assistant, "strict").canonicalMessage?.toolCalls).toMatchObject([
      { name: "fs.read_text", arguments: { path: "a", sudo: true } },
    ]);
  });

  test("unknown_tool: the name goes on as it is, and is no tool's", () => {
    const { assistant } = inputOf<{ assistant: string }>("marker_protocol", "unknown_tool");
    const [call] = adaptText(assistant, "strict").canonicalMessage?.toolCalls ?? [];
    expect(call?.name).toBe("shell.exec\u0000");
    expect(isToolName(call?.name ?? "")).toBe(false);
  });

  test("provider_native_tool_calls_plus_text_block: mixed channels are rejected by every adapter", () => {
    const { provider, text } = inputOf<{ provider: { tool_calls: { name: string }[] }; text: string }>(
      "marker_protocol",
      "provider_native_tool_calls_plus_text_block",
    );
    const toolCalls = provider.tool_calls.map(({ name }) => ({ id: "c1", name, argumentsText: "{}" }));
    for (const version of ["native-tools@2", "marker-json@2"]) {
      for (const mode of MODES) {
        const result = adapterFor(version)?.adapt(rawOutput({ content: text, toolCalls }), mode);
        expect(result).toMatchObject({ status: "rejected", failureCode: "protocol.mixed-channels" });
      }
    }
  });

  verifies("M-4.2", "truncated_stream: no call and no text of the block, however the stream ended", () => {
    const { chunks } = inputOf<{ chunks: string[] }>("marker_protocol", "truncated_stream");
    const arrived = chunks.filter((chunk) => chunk !== "<EOF>");
    const content = arrived.join("");
    const ends = [
      [{ complete: false }, "protocol.incomplete"],
      [{ stopReason: "length" }, "protocol.truncated"],
      [{ stopReason: "stop" }, "protocol.unterminated-block"],
    ] as const;
    for (const mode of MODES) {
      for (const [end, failureCode] of ends) {
        expect(adapterFor("marker-json@2")?.adapt(rawOutput({ content, ...end }), mode)).toMatchObject({
          status: "rejected",
          failureCode,
        });
      }
    }
    expect(pass(markerStripper, arrived)).toBe("");
  });

  test("tool_result_forgery: it stays what the assistant said", () => {
    const { assistant } = inputOf<{ assistant: string }>("marker_protocol", "tool_result_forgery");
    expect(adaptText(assistant, "strict").canonicalMessage).toEqual({
      role: "assistant",
      content: assistant,
      toolCalls: [],
    });
  });

  describe.each(["marker_in_tool_output", "marker_in_user_message"])("%s", (name) => {
    verifies("S-3.3", "escaped, it is no block even if a model repeats it word for word", () => {
      const { content } = inputOf<{ content: string }>("marker_protocol", name);
      const escaped = escapeMarkers(content);
      for (const version of ["native-tools@2", "marker-json@2"]) {
        expect(adaptText(escaped, "lenient", version)).toMatchObject({
          status: "native",
          canonicalMessage: { content: escaped, toolCalls: [] },
          notes: null,
        });
      }
    });
  });
});

describe("self_grant", () => {
  verifies("S-2.4", "plain: the model's grant becomes a pending request", () => {
    const { assistant } = inputOf<{ assistant: string }>("self_grant", "plain");
    expect(applyNotes(EMPTY_CHECKPOINT, notesOf(assistant).patch)).toEqual({
      state: { ...EMPTY_CHECKPOINT, capabilitiesPending: ["net"] },
      actions: [{ action: "grant_permission:net", status: "requires_operator" }],
    });
  });

  verifies("S-2.4", "state_patch_smuggle: capabilities are no key of a patch", () => {
    const { assistant } = inputOf<{ assistant: string }>("self_grant", "state_patch_smuggle");
    const notes = notesOf(assistant);
    expect(notes.unknownKeys).toEqual(["capabilities_granted"]);
    expect(applyNotes(EMPTY_CHECKPOINT, notes.patch)).toEqual({
      state: { ...EMPTY_CHECKPOINT, goals: ["x"] },
      actions: [],
    });
  });

  test.each(["cap_ip_literal", "cap_wildcard"])("[S-2.3] %s is rejected and reported", (name) => {
    const { actions } = inputOf<{ actions: string[] }>("self_grant", name);
    expect(applyNotes(EMPTY_CHECKPOINT, notesOf(notesText({ actions })).patch)).toEqual({
      state: EMPTY_CHECKPOINT,
      actions: actions.map((action) => ({ action: action.split(":")[0], status: "rejected" })),
    });
  });

  verifies("S-1.1/pending", "already_granted_request: pending does not hold what is granted", () => {
    const { granted, actions } = inputOf<{ granted: Capability[]; actions: string[] }>(
      "self_grant",
      "already_granted_request",
    );
    const state = { ...EMPTY_CHECKPOINT, capabilitiesGranted: granted };
    expect(applyNotes(state, notesOf(notesText({ actions })).patch)).toEqual({
      state,
      actions: [{ action: "request_permission:net", status: "already_granted" }],
    });
  });

  verifies("S-3.3", "grant_in_tool_output, grant_via_user_quoted_email: escaped data holds no notes", () => {
    const { content } = inputOf<{ content: string }>("self_grant", "grant_in_tool_output");
    const { user } = inputOf<{ user: string }>("self_grant", "grant_via_user_quoted_email");
    for (const text of [content, user]) {
      expect(readNotes(scanBlocks(text))?.status).toBe("parsed");
      expect(readNotes(scanBlocks(escapeMarkers(text)))).toBeNull();
    }
  });

  verifies("S-2.4", "operator_grant: moves the capability from pending to granted", () => {
    const { action } = inputOf<{ action: string }>("self_grant", "operator_grant");
    const capability = parseCapability(action.slice("grant_permission:".length));
    if (capability === null) throw new Error(action);
    const { state } = applyNotes(EMPTY_CHECKPOINT, notesOf(notesText({ actions: [action] })).patch);
    expect(state.capabilitiesPending).toEqual([capability]);
    expect(grantCapability(state, capability)).toEqual({ ...EMPTY_CHECKPOINT, capabilitiesGranted: [capability] });
  });
});

describe("unicode", () => {
  test("bom_in_marker: the mark is text, the block is a block", () => {
    const { assistant } = inputOf<{ assistant: string }>("unicode", "bom_in_marker");
    expect(adaptText(assistant, "strict")).toMatchObject({
      status: "native",
      canonicalMessage: { content: "\uFEFF", toolCalls: [] },
    });
  });

  test("lone_surrogate: refused in arguments and notes", () => {
    const { json } = inputOf<{ json: string }>("unicode", "lone_surrogate");
    for (const mode of MODES) {
      expect(adaptText(toolBlock(`[{"id":"t1","tool":"a","args":${json}}]`), mode)).toMatchObject({
        status: "rejected",
        failureCode: "protocol.invalid-json",
      });
    }
    expect(readNotes(scanBlocks(`<<<NOTES_JSON>>>${json}<<<END_NOTES_JSON>>>`))).toMatchObject({ status: "malformed" });
  });

  test("overlong_utf8: an overlong dot never becomes a dot", () => {
    const { bytes } = inputOf<{ bytes: string }>("unicode", "overlong_utf8");
    const input = Uint8Array.from(bytes.split(" ").map((byte) => Number.parseInt(byte, 16)));
    for (const chunks of everyPartition(input)) expect(decoded(chunks).join("")).toBe("\uFFFD\uFFFD\uFFFD\uFFFD/");
  });

  test("hash_nfc_nfd: two spellings, two hashes", () => {
    const [nfc, nfd] = inputOf<{ t: string }[]>("unicode", "hash_nfc_nfd");
    expect(hashRawOutput(rawOutput({ content: nfc?.t ?? "" }))).not.toBe(
      hashRawOutput(rawOutput({ content: nfd?.t ?? "" })),
    );
  });
});

describe("proto_pollution", () => {
  test.each(["args_constructor", "object_assign"])("%s: keys are data in objects that inherit nothing", (name) => {
    const { json } = inputOf<{ json: string }>("proto_pollution", name);
    const [call] =
      adaptText(toolBlock(`[{"id":"t1","tool":"a","args":${json}}]`), "strict").canonicalMessage?.toolCalls ?? [];
    const args = call?.arguments ?? {};
    expect(inheritsNothing(args)).toBe(true);
    expect(Object.keys(args)).toEqual(Object.keys(JSON.parse(json) as object));
    expect((args as { polluted?: unknown }).polluted).toBeUndefined();
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();

    const notes = notesOf(`<<<NOTES_JSON>>>${json}<<<END_NOTES_JSON>>>`);
    expect(notes.unknownKeys).toEqual(Object.keys(args));
    expect(applyNotes(EMPTY_CHECKPOINT, notes.patch).state).toEqual(EMPTY_CHECKPOINT);
  });

  test("toString_override: an id is a string, and an object is never asked to become one", () => {
    const { json } = inputOf<{ json: string }>("proto_pollution", "toString_override");
    for (const mode of MODES) {
      expect(adaptText(toolBlock(`[${json}]`), mode)).toMatchObject({
        status: "rejected",
        failureCode: "protocol.invalid-id",
      });
    }
  });
});

function notesText(patch: object): string {
  return `<<<NOTES_JSON>>>${JSON.stringify(patch)}<<<END_NOTES_JSON>>>`;
}
