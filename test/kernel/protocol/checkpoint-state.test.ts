import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  applyNotes,
  type CheckpointState,
  EMPTY_CHECKPOINT,
  grantCapability,
  MAX_PENDING_CAPABILITIES,
  revokeCapability,
} from "../../../src/kernel/protocol/checkpoint-state.ts";
import type { NotesPatch } from "../../../src/kernel/protocol/notes.ts";
import type { Capability } from "../../../src/kernel/vocabulary/capability.ts";
import { verifies } from "../../requirements.ts";

const NET = "net" as Capability;
const HF = "net:huggingface.co" as Capability;

const patchOf = (fields: Partial<NotesPatch>): NotesPatch => ({
  setGoals: null,
  addOpenLoops: [],
  closeOpenLoops: [],
  addDecisions: [],
  addConstraints: [],
  setEpisodeSummary: null,
  addMemoryTags: [],
  actions: [],
  ...fields,
});
const stateOf = (fields: Partial<CheckpointState>): CheckpointState => ({ ...EMPTY_CHECKPOINT, ...fields });
const act = (state: CheckpointState, ...actions: string[]) => applyNotes(state, patchOf({ actions }));

const words = fc.array(fc.constantFrom("a", "b", "c", "d"), { maxLength: 4 });
const capability = fc.constantFrom(NET, HF, "net:example.com" as Capability);
const action = fc.oneof(
  fc.constantFrom("condense_now", "condense_smart", "other", ""),
  fc
    .tuple(fc.constantFrom("request_permission:", "grant_permission:"), fc.oneof(capability, fc.string()))
    .map((parts) => parts.join("")),
  fc.string(),
);
const anyPatch: fc.Arbitrary<NotesPatch> = fc.record({
  setGoals: fc.option(words),
  addOpenLoops: words,
  closeOpenLoops: words,
  addDecisions: words,
  addConstraints: words,
  setEpisodeSummary: fc.option(fc.string()),
  addMemoryTags: words,
  actions: fc.array(action, { maxLength: 6 }),
});
type Move =
  | { readonly kind: "notes"; readonly patch: NotesPatch }
  | { readonly kind: "grant" | "revoke"; readonly capability: Capability };
const move: fc.Arbitrary<Move> = fc.oneof(
  fc.record({ kind: fc.constant("notes" as const), patch: anyPatch }),
  fc.record({ kind: fc.constantFrom("grant" as const, "revoke" as const), capability }),
);
function make(state: CheckpointState, next: Move): CheckpointState {
  if (next.kind === "notes") return applyNotes(state, next.patch).state;
  return next.kind === "grant" ? grantCapability(state, next.capability) : revokeCapability(state, next.capability);
}
const anyState = fc.array(move, { maxLength: 6 }).map((moves) => moves.reduce(make, EMPTY_CHECKPOINT));

describe("applyNotes", () => {
  verifies("S-2.1/absent", "a patch with no keys changes nothing", () => {
    fc.assert(
      fc.property(anyState, (state) => {
        expect(applyNotes(state, patchOf({}))).toEqual({ state, actions: [] });
      }),
    );
  });

  verifies(["S-2.1/applied", "S-2.2"], "each key changes its own list and no other", () => {
    const full = stateOf({
      goals: ["g"],
      openLoops: ["o", "p"],
      decisions: ["d"],
      constraints: ["c"],
      episodeSummary: "s",
      memoryTags: ["t"],
      memoryRefs: ["r"],
      capabilitiesGranted: [NET],
      capabilitiesPending: [HF],
    });
    const cases: [Partial<NotesPatch>, Partial<CheckpointState>][] = [
      [{ setGoals: ["x", "y", "x"] }, { goals: ["x", "y"] }],
      [{ setGoals: [] }, { goals: [] }],
      [{ addOpenLoops: ["x", "o"] }, { openLoops: ["o", "p", "x"] }],
      [{ closeOpenLoops: ["o", "never"] }, { openLoops: ["p"] }],
      [{ addDecisions: ["x", "d"] }, { decisions: ["d", "x"] }],
      [{ addConstraints: ["x"] }, { constraints: ["c", "x"] }],
      [{ setEpisodeSummary: "new" }, { episodeSummary: "new" }],
      [{ setEpisodeSummary: "" }, { episodeSummary: "" }],
      [{ addMemoryTags: ["x"] }, { memoryTags: ["t", "x"] }],
    ];
    for (const [patch, changed] of cases) {
      expect(applyNotes(full, patchOf(patch))).toEqual({ state: { ...full, ...changed }, actions: [] });
    }
  });

  test("a loop opened and closed by one patch ends closed", () => {
    const { state } = applyNotes(EMPTY_CHECKPOINT, patchOf({ addOpenLoops: ["a", "b"], closeOpenLoops: ["a"] }));
    expect(state.openLoops).toEqual(["b"]);
  });

  test("a patch applied twice is a patch applied once", () => {
    fc.assert(
      fc.property(anyState, anyPatch, (state, patch) => {
        const once = applyNotes(state, patch).state;
        expect(applyNotes(once, patch).state).toEqual(once);
      }),
    );
  });

  verifies("S-1.1/pending", "pending never holds what is granted, and lists hold nothing twice", () => {
    fc.assert(
      fc.property(anyState, (state) => {
        for (const pending of state.capabilitiesPending) expect(state.capabilitiesGranted).not.toContain(pending);
        for (const list of Object.values(state).filter((value) => Array.isArray(value))) {
          expect(new Set(list).size).toBe(list.length);
        }
      }),
    );
  });

  verifies("S-2.4/operator", "no notes change what is granted", () => {
    fc.assert(
      fc.property(anyState, anyPatch, (state, patch) => {
        expect(applyNotes(state, patch).state.capabilitiesGranted).toEqual(state.capabilitiesGranted);
      }),
      { numRuns: 1000 },
    );
  });

  verifies("S-2.3", "every action is reported once, in order, and in no words but ours", () => {
    const ours = /^(unknown|condense_now|condense_smart|(request|grant)_permission(:net(:[a-z0-9.-]+)?)?)$/;
    fc.assert(
      fc.property(anyState, anyPatch, (state, patch) => {
        const { actions } = applyNotes(state, patch);
        expect(actions).toHaveLength(patch.actions.length);
        for (const [index, { action }] of actions.entries()) {
          expect(action).toMatch(ours);
          if (action !== "unknown") expect(patch.actions[index]?.startsWith(action)).toBe(true);
        }
      }),
    );
  });

  verifies("S-2.3", "condensing leaves the state alone: the trim is applied, the summary requested", () => {
    expect(act(EMPTY_CHECKPOINT, "condense_now", "condense_smart")).toEqual({
      state: EMPTY_CHECKPOINT,
      actions: [
        { action: "condense_now", status: "applied" },
        { action: "condense_smart", status: "requested" },
      ],
    });
  });

  verifies("S-2.3", "unknown actions are ignored and reported, without what they say", () => {
    const unknown = [
      "",
      "condense",
      "Condense_now",
      "condense_now ",
      "request_permission",
      "grant_permission",
      "GRANT_PERMISSION:net",
      " grant_permission:net",
      "revoke_permission:net",
      "__proto__",
    ];
    expect(act(EMPTY_CHECKPOINT, ...unknown)).toEqual({
      state: EMPTY_CHECKPOINT,
      actions: unknown.map(() => ({ action: "unknown", status: "ignored" })),
    });
  });

  verifies("S-2.4/request", "a request awaits an operator, once, unless it is granted", () => {
    const first = act(EMPTY_CHECKPOINT, "request_permission:net", "request_permission:net:huggingface.co");
    expect(first.state).toEqual(stateOf({ capabilitiesPending: [NET, HF] }));
    expect(first.actions.map(({ status }) => status)).toEqual(["applied", "applied"]);
    expect(act(first.state, "request_permission:net")).toEqual({
      state: first.state,
      actions: [{ action: "request_permission:net", status: "already_pending" }],
    });
    const granted = stateOf({ capabilitiesGranted: [NET] });
    expect(act(granted, "request_permission:net")).toEqual({
      state: granted,
      actions: [{ action: "request_permission:net", status: "already_granted" }],
    });
    // The broad grant and the narrow one differ in what they allow (S-4): one does not answer for the other.
    expect(act(granted, "request_permission:net:huggingface.co").state.capabilitiesPending).toEqual([HF]);
  });

  verifies("S-2.4", "a grant out of a model is a request that requires an operator", () => {
    const pending = stateOf({ capabilitiesPending: [NET] });
    const report = [{ action: "grant_permission:net", status: "requires_operator" }];
    expect(act(EMPTY_CHECKPOINT, "grant_permission:net")).toEqual({ state: pending, actions: report });
    expect(act(pending, "grant_permission:net")).toEqual({ state: pending, actions: report });
    const granted = stateOf({ capabilitiesGranted: [NET] });
    expect(act(granted, "grant_permission:net")).toEqual({
      state: granted,
      actions: [{ action: "grant_permission:net", status: "already_granted" }],
    });
  });

  test.each(["", "*", "net:*", "net:127.0.0.1", "net:localhost", "net ", "NET", "net:[::1]", "fs"])(
    "what cannot be granted is rejected: %j",
    (text) => {
      expect(act(EMPTY_CHECKPOINT, `request_permission:${text}`, `grant_permission:${text}`)).toEqual({
        state: EMPTY_CHECKPOINT,
        actions: [
          { action: "request_permission", status: "rejected" },
          { action: "grant_permission", status: "rejected" },
        ],
      });
    },
  );
});

test("requests beyond the bound are rejected, those within it stay", () => {
  const actions = Array.from(
    { length: MAX_PENDING_CAPABILITIES + 2 },
    (_, at) => `request_permission:net:host${at}.example`,
  );
  const { state, actions: reports } = act(EMPTY_CHECKPOINT, ...actions, "request_permission:net:host0.example");
  expect(MAX_PENDING_CAPABILITIES).toBe(64);
  expect(state.capabilitiesPending).toHaveLength(MAX_PENDING_CAPABILITIES);
  expect(reports.slice(63)).toEqual([
    { action: "request_permission:net:host63.example", status: "applied" },
    { action: "request_permission", status: "rejected" },
    { action: "request_permission", status: "rejected" },
    { action: "request_permission:net:host0.example", status: "already_pending" },
  ]);
});

describe("an operator's acts", () => {
  verifies("S-2.4/grant", "a grant moves the capability from pending to granted, and nothing else moves", () => {
    const state = stateOf({ goals: ["g"], capabilitiesPending: [NET, HF] });
    const granted = grantCapability(state, HF);
    expect(granted).toEqual({ ...state, capabilitiesPending: [NET], capabilitiesGranted: [HF] });
    expect(grantCapability(granted, HF)).toEqual(granted);
    expect(grantCapability(granted, NET).capabilitiesGranted).toEqual([HF, NET]);
  });

  test("a revocation takes back the grant, or the request, and nothing else", () => {
    const state = stateOf({ goals: ["g"], capabilitiesGranted: [NET, HF] });
    expect(revokeCapability(state, NET)).toEqual({ ...state, capabilitiesGranted: [HF] });
    const pending = stateOf({ capabilitiesPending: [NET, HF] });
    expect(revokeCapability(pending, HF)).toEqual({ ...pending, capabilitiesPending: [NET] });
    expect(revokeCapability(EMPTY_CHECKPOINT, NET)).toEqual(EMPTY_CHECKPOINT);
  });
});
