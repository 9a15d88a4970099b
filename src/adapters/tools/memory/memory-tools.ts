/**
 * The memory tools. `memory.remember` writes into our own store, once for each call however often it is repeated;
 * `memory.search` finds when it is planned, so that what it brings in is labelled before it is decided.
 */
import { Type } from "typebox";
import { MEMORY_REMEMBER, MEMORY_SEARCH } from "../../../kernel/journal/views/memory-citations.ts";
import { CLEAN_LABELS, joinLabels, USER_LABELS } from "../../../kernel/vocabulary/labels.ts";
import { MAX_MEMORY_CHARS, MAX_TAGS } from "../../../runtime/memory/memory-rules.ts";
import type { MemoryAccess, MemoryExcerpt } from "../../../runtime/ports/memory.ts";
import { defineTool, fieldOf, type Tool } from "../define-tool.ts";
import { ToolFailure } from "../tool-failure.ts";

const TAG = /^[\p{L}\p{N}_-]{1,64}$/u;
const DEFAULT_LIMIT = 5;
const MAX_LIMIT = 20;
const Tags = Type.Optional(
  Type.Array(Type.String({ minLength: 1, maxLength: 64 }), { default: [], maxItems: MAX_TAGS }),
);

export function memoryTools(memory: MemoryAccess): readonly Tool[] {
  return [searchTool(memory), rememberTool(memory)];
}

function rememberTool(memory: MemoryAccess) {
  return defineTool({
    name: MEMORY_REMEMBER,
    description: "Remember a fact for later conversations.",
    parameters: Type.Object(
      { text: Type.String({ minLength: 1, maxLength: MAX_MEMORY_CHARS }), tags: Tags },
      { additionalProperties: false },
    ),
    risk: "side_effect",
    idempotency: "keyed",
    aliases: [{ name: "memory.add" }, { name: "memory_add" }],
    plan({ text, tags }) {
      if (text.trim() === "") throw new ToolFailure("tool.input_invalid", "text is empty: say what to remember.");
      const odd = tags.find((tag) => !TAG.test(tag));
      if (odd !== undefined)
        throw new ToolFailure("tool.input_invalid", "A tag is one word of letters, digits, _ and -.");
      return {
        labels: USER_LABELS,
        reversal: { kind: "reversible", how: "surety memory forget removes it" },
        shown: `Remember for later conversations${tags.length === 0 ? "" : `, tagged ${tags.join(", ")}`}:\n${text}`,
      };
    },
    async run({ args: { text, tags } }, { by, seen, idempotencyKey }) {
      if (idempotencyKey === null || by === undefined) {
        throw new ToolFailure("invalid.request", "Only a run remembers: use surety memory add TEXT.");
      }
      return { id: await memory.remember({ text, tags, labels: seen, by, key: idempotencyKey }) };
    },
    summarize({ output }) {
      return `remembered as ${fieldOf(output, "id") ?? "a memory"}`;
    },
  });
}

function searchTool(memory: MemoryAccess) {
  return defineTool({
    name: MEMORY_SEARCH,
    description: "Search what you remember; cite a result as [mem:ID].",
    parameters: Type.Object(
      {
        query: Type.String({ minLength: 1, maxLength: 500 }),
        tags: Type.Optional(Type.Array(Type.String(), { default: [] })),
        limit: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_LIMIT, default: DEFAULT_LIMIT })),
      },
      { additionalProperties: false },
    ),
    risk: "read_only",
    idempotency: "read_only",
    async plan({ query, tags, limit }, by) {
      const found = await memory.search(query, tags, limit, by);
      return {
        labels: found.map(({ labels }) => labels).reduce(joinLabels, CLEAN_LABELS),
        shown: `Search the memories for ${JSON.stringify(query)} (up to ${limit} results)`,
        plan: { targets: found.map(({ id }) => id) },
      };
    },
    async run({ args: { query, tags, limit }, plan }, { by }) {
      const found = await memory.search(query, tags, limit, by);
      // What came meanwhile may have other labels than the plan says.
      return { results: found.filter(({ id }) => plan.targets.includes(id)).map(resultOf) };
    },
    summarize({ output }) {
      const found = typeof output === "object" && output !== null && "results" in output ? output.results : [];
      const count = Array.isArray(found) ? found.length : 0;
      return `found ${count === 1 ? "one memory" : `${count} memories`}`;
    },
  });
}

function resultOf({ id, score, excerpt, tags, createdAt }: MemoryExcerpt) {
  return { id, score, text: excerpt, tags: [...tags], created_at: createdAt };
}
