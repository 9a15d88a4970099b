/** `surety memory add|search|show|forget|import`: what the agents remember beyond one conversation. */
import { visibleText } from "../../adapters/terminal/visible-text.ts";
import type { WireMemory } from "../../assistant/memory/operations.ts";
import { excerptOf } from "../../assistant/memory/retrieved-block.ts";
import { searchWords } from "../../assistant/memory/search-words.ts";
import { asMemoryId } from "../../kernel/vocabulary/identifiers.ts";
import type { Action, Command, CommandContext, OptionSpec } from "../command.ts";
import { valueIn, withOperations } from "../connect-assistant.ts";
import { forgetMemory } from "./forget-memory.ts";
import { importMemories } from "./import-memories.ts";

const AGENT: OptionSpec = { type: "string", value: "AGENT", summary: "of this agent; main unless stated" };
const TAG: OptionSpec = { type: "string", value: "TAG", summary: "with this tag", multiple: true };
const LIMIT: OptionSpec = { type: "string", value: "N", summary: "how many at most; 20 unless stated" };
const EXCERPT_CHARS = 100;

const hint = (code: string): string =>
  code === "not_found" ? "See surety memory search." : "See surety memory --help.";

const add: Action = {
  summary: "remember a text, or put it in place of an earlier memory",
  arguments: ["TEXT..."],
  options: {
    agent: AGENT,
    tag: TAG,
    replaces: { type: "string", value: "MEMORY", summary: "the memory that this one supersedes" },
  },
  examples: [
    'surety memory add "the boiler code is 4471" --tag house',
    'surety memory add "it is 4472 now" --replaces MEM',
  ],
  run: (context) =>
    withOperations(context, async (operations) => {
      const { options, output } = context;
      const agent = options.text("agent");
      const replaces = options.text("replaces");
      const added = valueIn(
        await operations.call("memory.add", {
          text: context.arguments.join(" "),
          tags: [...options.texts("tag")],
          ...(agent === undefined ? {} : { agent_id: agent }),
          ...(replaces === undefined ? {} : { replaces: asMemoryId(replaces) }),
        }),
        hint,
      );
      output.result(added, () => output.line(added.added ? added.id : `${added.id} (remembered before)`));
    }),
};

const search: Action = {
  summary: "find memories; without words, the newest",
  arguments: ["[QUERY]..."],
  options: { agent: AGENT, tag: { ...TAG, multiple: false }, limit: LIMIT },
  examples: ["surety memory search boiler code", "surety memory search --tag house"],
  run: (context) =>
    withOperations(context, async (operations) => {
      const { options, output } = context;
      const agent = options.text("agent");
      const tag = options.text("tag");
      const q = context.arguments.join(" ");
      const found = valueIn(
        await operations.call("memory.list", {
          q,
          ...(agent === undefined ? {} : { agent_id: agent }),
          ...(tag === undefined ? {} : { tag }),
          limit: options.integer("limit", { least: 1, most: 500, example: 20 }) ?? 20,
        }),
        hint,
      );
      const words = searchWords(q);
      output.result(found, () => {
        if (found.memories.length === 0) output.line("nothing was found");
        else
          output.table(
            ["ID", "SCORE", "TEXT"],
            found.memories.map((memory) => rowOf(memory, words)),
          );
      });
    }),
};

function rowOf({ id, score, text }: WireMemory, words: readonly string[]): readonly string[] {
  return [id, score?.toFixed(3) ?? "", visibleText(excerptOf(text ?? "", words, EXCERPT_CHARS))];
}

const show: Action = {
  summary: "print a memory, where it comes from, and who cited it",
  arguments: ["MEMORY"],
  examples: ["surety memory show mem_0123456789abcdef01234567"],
  run: (context) =>
    withOperations(context, async (operations) => {
      const [id = ""] = context.arguments;
      const memory = valueIn(await operations.call("memory.show", { id: asMemoryId(id) }), hint);
      context.output.result(memory, () => printMemory(context, memory));
    }),
};

function printMemory(
  { output }: CommandContext,
  memory: WireMemory & { readonly runs: readonly { readonly run_id: string; readonly cited: boolean }[] },
): void {
  const { text, kind, labels, source, origin, tags, session_key: session } = memory;
  output.line(text === null ? `forgotten at ${memory.forgotten_at ?? ""}` : visibleText(text));
  const facts = [
    `${kind} for agent ${memory.agent_id} at ${memory.created_at}; ${labels.integrity} × ${labels.confidentiality}`,
    source === null ? `from ${visibleText(origin)}` : `from run ${source.run_id}, entry ${source.seq}`,
    ...(tags.length === 0 ? [] : [`tags: ${tags.join(", ")}`]),
    ...(session === null ? [] : [`given in the conversation ${visibleText(session)} only`]),
    ...(memory.supersedes === null ? [] : [`replaces ${memory.supersedes}`]),
    ...(memory.superseded_by === null ? [] : [`replaced by ${memory.superseded_by}`]),
    ...memory.runs.map(({ run_id, cited }) => `${cited ? "cited in" : "given to"} run ${run_id}`),
  ];
  for (const fact of facts) output.line(fact);
}

const forget: Action = {
  summary: "forget a memory and what it replaced; backups and runs that told it keep their copies",
  arguments: ["MEMORY"],
  examples: ["surety memory forget mem_0123456789abcdef01234567"],
  run: (context) => forgetMemory(context, asMemoryId(context.arguments[0] ?? "")),
};

export const command: Command = { actions: { add, search, show, forget, import: importMemories } };
