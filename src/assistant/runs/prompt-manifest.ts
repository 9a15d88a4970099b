/** What a run's model was sent, as the journal binds it: ids, refs, hashes and counts, and what was left out (P-2.1). */
import { type Static, Type } from "typebox";
import { acceptedOf } from "../../kernel/journal/views/run-timeline.ts";
import { hashCanonical } from "../../kernel/vocabulary/hash.ts";
import type { JsonValue } from "../../kernel/vocabulary/parse-json.ts";
import { Count, HashSchema, nullable, RunIdSchema } from "../../kernel/vocabulary/schema-primitives.ts";
import { type Refusal, refuse } from "../../runtime/operations/operation.ts";
import type { Store, StoredRun } from "../../runtime/ports/store.ts";
import { findAcceptance, type ManifestLayer } from "../../runtime/run/acceptance.ts";
import { readWholeJournal } from "../../runtime/run/read-run.ts";

const optional = Type.Optional;

export const ManifestSchema = Type.Object({
  run_id: RunIdSchema,
  tokens: Count,
  /** Of the layers and what was left out, as stored. */
  manifest_hash: HashSchema,
  /** What the journal binds; null until the run begins. */
  journal_hash: nullable(HashSchema),
  /** In the order in which they are sent. */
  layers: Type.Array(
    Type.Object({
      layer: Type.String(),
      tokens: Count,
      id: optional(Type.String()),
      file: optional(Type.String()),
      sha256: optional(HashSchema),
      ref: optional(Type.String()),
      integrity: optional(Type.String()),
      is_cut: optional(Type.Boolean()),
      revision: optional(Count),
      turns: optional(Type.Array(Type.String())),
      names: optional(Type.Array(Type.String())),
    }),
  ),
  left_out: Type.Object({
    turns: Count,
    calls: Count,
    tools: Type.Array(Type.String()),
    agent_file: optional(Type.String()),
  }),
});
export type WireManifest = Static<typeof ManifestSchema>;

export async function readManifest(
  store: Store,
  run: StoredRun,
): Promise<{ readonly ok: true; readonly manifest: WireManifest } | Refusal> {
  const manifest = findAcceptance(run.accepted)?.manifest;
  if (manifest === undefined)
    return refuse("not_found", "this run has no manifest: it is damaged, or of an earlier version");
  const accepted = acceptedOf((await readWholeJournal(store, run.runId)).entries);
  const { layers, leftOut } = manifest;
  const { tools = [], agentFile, ...counts } = leftOut;
  return {
    ok: true,
    manifest: {
      run_id: run.runId,
      tokens: layers.reduce((sum, { tokens }) => sum + tokens, 0),
      manifest_hash: hashCanonical(manifest as unknown as JsonValue),
      journal_hash: accepted?.prompt.manifest ?? null,
      layers: layers.map(wireLayer),
      left_out: { ...counts, tools: [...tools], ...(agentFile === undefined ? {} : { agent_file: agentFile }) },
    },
  };
}

function wireLayer(layer: ManifestLayer): WireManifest["layers"][number] {
  switch (layer.layer) {
    case "agent": {
      if ("id" in layer) return layer;
      const { isCut: is_cut, ...file } = layer;
      return { ...file, is_cut };
    }
    case "history":
      return { ...layer, turns: [...layer.turns] };
    case "tools":
      return { ...layer, names: [...layer.names] };
    default:
      return layer;
  }
}

export function describeManifest({ layers, left_out, tokens, ...hashes }: WireManifest): {
  readonly rows: readonly (readonly string[])[];
  readonly lines: readonly string[];
} {
  const { turns, calls, tools, agent_file } = left_out;
  const left = [
    ...(turns === 0 ? [] : [`${turns} earlier turn(s)`]),
    ...(calls === 0 ? [] : [`${calls} call(s) with their results`]),
    ...(tools.length === 0 ? [] : [`the tools ${tools.join(", ")}`]),
    ...(agent_file === undefined ? [] : [`AGENTS.md (${agent_file})`]),
  ];
  return {
    rows: layers.map((layer) => [layer.layer, String(layer.tokens), whatOf(layer), (layer.sha256 ?? "").slice(0, 12)]),
    lines: [
      `${tokens} tokens; left out: ${left.length === 0 ? "nothing" : left.join(", ")}`,
      `manifest ${hashes.manifest_hash}${boundBy(hashes)}`,
    ],
  };
}

function boundBy({ manifest_hash, journal_hash }: Pick<WireManifest, "manifest_hash" | "journal_hash">): string {
  if (journal_hash === null) return " (the run has not begun: more may be added)";
  return journal_hash === manifest_hash ? ", as the journal has it" : `: the journal has ${journal_hash}`;
}

function whatOf(layer: WireManifest["layers"][number]): string {
  const { id, file, is_cut, integrity, revision, turns, names, ref } = layer;
  if (id !== undefined) return id;
  if (file !== undefined) return `${file}${is_cut ? ", cut" : ""}${integrity === "untrusted" ? ", untrusted" : ""}`;
  if (revision !== undefined) return `checkpoint ${revision}`;
  if (turns !== undefined) return `${turns.length} turn(s)`;
  return names === undefined ? (ref ?? "") : names.join(" ");
}
