import { PassThrough } from "node:stream";
import { describe, expect, onTestFinished, test } from "vitest";
import { openLineEditor } from "../../../src/adapters/terminal/line-editor.ts";

function editing(complete: (line: string) => readonly string[] = () => []) {
  const input = new PassThrough();
  const heard: string[] = [];
  const editor = openLineEditor({
    input,
    complete,
    onLine: (text, isAnswer) => heard.push(`${isAnswer ? "answer" : "message"} ${JSON.stringify(text)}`),
    onChange: () => {},
    onInterrupt: () => heard.push("interrupt"),
    onEnd: () => heard.push("end"),
    onChoices: (choices) => heard.push(`choices ${choices.join("|")}`),
  });
  onTestFinished(() => editor.close());
  /** Keys have been heard when the stream has passed them on. */
  const type = (keys: string): Promise<void> =>
    new Promise((resolve) => {
      input.write(keys, () => setImmediate(resolve));
    });
  return { editor, heard, type };
}

describe("the line one writes on", () => {
  test("sends what was written, with corrections", async () => {
    const { heard, type } = editing();
    await type("hallo\u001b[D\u001b[D\u001b[D\u007fe\r");
    expect(heard).toEqual(['message "hello"']);
  });

  test("a backslash at the end goes on in the next line", async () => {
    const { editor, heard, type } = editing();
    await type("one\\\r");
    expect(editor.text).toEqual({ lines: ["one", ""], cursor: 0 });
    await type("two\r");
    expect(heard).toEqual(['message "one\\ntwo"']);
  });

  test("pasted lines are one message, which Enter sends", async () => {
    const { heard, type } = editing();
    await type("see: \u001b[200~one\ntwo\n\u001b[201~");
    expect(heard).toEqual([]);
    await type("three\r");
    expect(heard).toEqual(['message "see: one\\ntwo\\nthree"']);
  });

  test("the up key brings back whole messages, and no answers", async () => {
    const { editor, heard, type } = editing();
    editor.setHistory(["first", "one\ntwo"]);
    editor.holdDraft();
    await type("a\r");
    editor.restoreDraft();
    await type("\u001b[A\u001b[A\r");
    editor.setHistory(["first", "one\ntwo", "newest"]);
    await type("\u001b[A\r");
    await type("\u001b[A\u001b[A\r");
    expect(heard).toEqual(['answer "a"', 'message "first"', 'message "newest"', 'message "one\\ntwo"']);
  });

  test("a question puts away what was written, and gives it back", async () => {
    const { editor, heard, type } = editing();
    await type("one\\\rhalf a li");
    editor.holdDraft();
    expect(editor.text).toEqual({ lines: [""], cursor: 0 });
    await type("d\r");
    editor.restoreDraft();
    expect(editor.text).toEqual({ lines: ["one", "half a li"], cursor: 9 });
    await type("ne\r");
    expect(heard).toEqual(['answer "d"', 'message "one\\nhalf a line"']);
  });

  test("what was typed in one go with an answer does not answer the next question", async () => {
    const input = new PassThrough();
    const heard: string[] = [];
    const editor = openLineEditor({
      ...{ input, complete: () => [], onChange: () => {}, onInterrupt: () => {}, onEnd: () => {}, onChoices: () => {} },
      onLine: (text) => {
        heard.push(text);
        editor.holdDraft();
      },
    });
    onTestFinished(() => editor.close());
    editor.holdDraft();
    await new Promise<void>((resolve) => {
      input.write("a\ra\r", () => setImmediate(resolve));
    });
    expect(heard).toEqual(["a"]);
  });

  test("Tab completes, or shows the choices; Ctrl-C and Ctrl-D are told", async () => {
    const all = ["/status ", "/stop "];
    const { editor, heard, type } = editing((line) => all.filter((each) => each.startsWith(line)));
    await type("/s\t");
    expect(heard).toEqual(["choices /status |/stop "]);
    await type("a\t");
    expect(editor.text.lines).toEqual(["/status "]);
    await type("\u0003");
    editor.clear();
    expect(editor.text).toEqual({ lines: [""], cursor: 0 });
    await type("\u0004");
    expect(heard.slice(1)).toEqual(["interrupt", "end"]);
  });
});
