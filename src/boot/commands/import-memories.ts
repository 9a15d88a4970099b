/**
 * `surety memory import DIR`: notes become memories, one for each piece below a heading. What is remembered already is passed
 * over, so the same command goes on where it stopped, and repeated it changes nothing.
 */
import { resolve } from "node:path";
import { findNotes } from "../../adapters/memory-files/find-notes.ts";
import { visibleText } from "../../adapters/terminal/visible-text.ts";
import { chunkMarkdown } from "../../assistant/memory/chunk-markdown.ts";
import type { InputOf, OperationClient } from "../../assistant/operations.ts";
import { BootError } from "../boot-error.ts";
import type { Action, CommandContext } from "../command.ts";
import { valueIn, withOperations } from "../connect-assistant.ts";

type Item = InputOf<"memory.import">["items"][number];

const BATCH = 500;
/** A request has room for a million. */
const MAX_BATCH_CHARS = 250_000;
const PROGRESS_EVERY = 5_000;

export const importMemories: Action = {
  summary: "remember the notes in a folder of Markdown, or in the workspace of an OpenClaw or Clawdbot home",
  arguments: ["DIR"],
  options: {
    agent: { type: "string", value: "AGENT", summary: "for this agent; main unless stated" },
    tag: { type: "string", value: "TAG", summary: "with this tag", multiple: true },
  },
  examples: ["surety memory import ~/notes --tag notes", "surety memory import ~/.openclaw/workspace"],
  async run(context) {
    const [given = ""] = context.arguments;
    const directory = resolve(given);
    const found = await findNotes(directory);
    if (found === null) {
      throw new BootError("not_found", `there is no directory ${directory}`, "Try: surety memory import ~/notes");
    }
    const counts = { files: 0, added: 0, known: 0 };
    await withOperations(context, async (operations) => {
      const batch = new Batch(context, operations, counts);
      for (const note of found.notes) {
        counts.files += 1;
        const text = await note.read();
        const tags = [...context.options.texts("tag"), ...(note.day === null ? [] : [note.day])];
        for (const piece of chunkMarkdown(text, note.day ?? note.path)) {
          await batch.add({ text: piece, origin: note.path.slice(0, 1_024), tags });
        }
      }
      await batch.send();
    });
    const { output } = context;
    for (const path of found.bad) output.remark(`warning memory.too-large: ${visibleText(path)} was not read`);
    output.result({ kind: found.kind, ...counts }, () => {
      const { files, added, known } = counts;
      output.line(`${files} files: ${added} memories added, ${known} known before`);
    });
  },
};

class Batch {
  readonly #context: CommandContext;
  readonly #operations: OperationClient;
  readonly #counts: { added: number; known: number };
  #items: Item[] = [];
  #chars = 0;
  #reported = 0;

  constructor(context: CommandContext, operations: OperationClient, counts: { added: number; known: number }) {
    this.#context = context;
    this.#operations = operations;
    this.#counts = counts;
  }

  async add(item: Item): Promise<void> {
    if (this.#items.length === BATCH || this.#chars + item.text.length > MAX_BATCH_CHARS) await this.send();
    this.#items.push(item);
    this.#chars += item.text.length;
  }

  async send(): Promise<void> {
    if (this.#items.length === 0) return;
    const agent = this.#context.options.text("agent");
    const input = { items: this.#items, ...(agent === undefined ? {} : { agent_id: agent }) };
    const done = valueIn(await this.#operations.call("memory.import", input), () => "See surety memory import --help.");
    this.#items = [];
    this.#chars = 0;
    const counts = this.#counts;
    counts.added += done.added;
    counts.known += done.known;
    const total = counts.added + counts.known;
    if (total - this.#reported < PROGRESS_EVERY) return;
    this.#reported = total;
    this.#context.output.remark(`${total} memories: ${counts.added} added, ${counts.known} known before`);
  }
}
