/**
 * The line a person writes on. Node's readline holds the text, the cursor, the keys and the history; it draws nothing here.
 *
 * E1. A message of several lines: a line that ends in a backslash goes on, and so does a pasted one. Pasting never sends.
 * E2. Of a chunk of input only the first line counts as an answer to what was asked meanwhile: the rest was written before
 *     it could be read.
 */
import { createInterface } from "node:readline";
import { Writable } from "node:stream";

export interface EditedText {
  /** The lines so far; the last one is being written. */
  readonly lines: readonly string[];
  /** In the last line. */
  readonly cursor: number;
}

export interface LineEditor {
  readonly text: EditedText;
  /** Puts away what was written so far: the next line answers a question. */
  holdDraft(): void;
  restoreDraft(): void;
  clear(): void;
  /** Messages that the up key brings back, oldest first. */
  setHistory(messages: readonly string[]): void;
  close(): void;
}

interface EditorParts {
  readonly input: NodeJS.ReadableStream;
  /** `isAnswer`: it was written while the draft was held. */
  readonly onLine: (text: string, isAnswer: boolean) => void;
  readonly onChange: () => void;
  readonly onInterrupt: () => void;
  readonly onEnd: () => void;
  /** What the line can be completed to. */
  readonly complete: (line: string) => readonly string[];
  readonly onChoices: (choices: readonly string[]) => void;
}

const MAX_HISTORY = 500;
/** Readline would edit a message of several lines as such, and go through it line by line. */
const LINE_SEPARATOR = "\u2028";

export function openLineEditor(parts: EditorParts): LineEditor {
  const { input, onLine, onChange, onInterrupt, onEnd, complete, onChoices } = parts;
  let earlier: string[] = [];
  let draft: { readonly lines: readonly string[] } | null = null;
  let isPasting = false;
  let chunk = 0;
  let heldAt = -1;
  let history: readonly string[] = [];
  const hear = (): void => {
    chunk += 1;
  };
  input.on("data", hear);
  const reader = createInterface({
    input,
    // As wide as can be: nothing is wrapped there.
    output: Object.assign(new Writable({ write: (_chunk, _encoding, done) => done() }), { columns: 1_000_000 }),
    terminal: true,
    historySize: MAX_HISTORY,
    completer: (line: string): [string[], string] => {
      const found = draft === null && !isPasting ? [...complete(line)] : [];
      if (found.length > 1) onChoices(found);
      return [found, line];
    },
  });
  const replace = (line: string): void => {
    reader.write(null, { ctrl: true, name: "e" });
    reader.write(null, { ctrl: true, name: "u" });
    if (line !== "") reader.write(line);
  };
  const submit = (written: string): void => {
    const line = written.replaceAll(LINE_SEPARATOR, "\n");
    if (draft !== null) {
      if (chunk !== heldAt) onLine(line, true);
      return;
    }
    if (isPasting) earlier.push(line);
    else if (line.endsWith("\\")) earlier.push(line.slice(0, -1));
    else {
      const text = [...earlier, line].join("\n");
      earlier = [];
      onLine(text, false);
    }
  };
  reader.on("line", (line) => {
    submit(line);
    onChange();
  });
  // What was sent as one message is brought back as one, and answers are not.
  reader.on("history", (entries) => {
    const messages = history.map((message) => message.replaceAll("\n", LINE_SEPARATOR));
    entries.splice(0, entries.length, ...messages.toReversed());
  });
  reader.on("SIGINT", onInterrupt);
  reader.on("SIGCONT", onChange);
  reader.on("close", onEnd);
  const follow = (
    _: string | undefined,
    key: { readonly name?: string; readonly meta?: boolean } | undefined,
  ): void => {
    if (key?.name === "paste-start") isPasting = true;
    if (key?.name === "paste-end") isPasting = false;
    onChange();
  };
  input.on("keypress", follow);

  return {
    get text() {
      return {
        lines: [...(draft === null ? earlier : []), reader.line.replaceAll(LINE_SEPARATOR, "\n")],
        cursor: reader.cursor,
      };
    },
    holdDraft() {
      heldAt = chunk;
      if (draft === null) draft = { lines: [...earlier, reader.line] };
      earlier = [];
      replace("");
    },
    restoreDraft() {
      const lines = [...(draft?.lines ?? [])];
      draft = null;
      const last = lines.pop() ?? "";
      earlier = lines;
      replace(last);
    },
    clear() {
      earlier = [];
      replace("");
    },
    setHistory(messages) {
      history = messages.slice(-MAX_HISTORY);
      reader.emit("history", (reader as unknown as { readonly history: string[] }).history);
    },
    close() {
      reader.off("close", onEnd);
      input.off("data", hear);
      input.off("keypress", follow);
      reader.close();
    },
  };
}
