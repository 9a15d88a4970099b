/**
 * Streams the text of a `grammar-json` answer while its document is written: the value of `text` at its top, unescaped.
 * Calls are passed over, and so is a text anywhere in them. What is no document gives nothing.
 */
import type { Transducer } from "../../vocabulary/transducer.ts";

export type DocumentState =
  /** Between values at the top: `expects` is the kind of the next character that is not white space. */
  | { readonly at: "top"; readonly expects: "brace" | "key" | "colon" | "value" | "comma"; readonly key: string }
  | { readonly at: "key"; readonly key: string }
  /** Within a value that is not the text: how deep, and whether within a string. */
  | { readonly at: "other"; readonly depth: number; readonly within: "value" | "string" | "escape" }
  /** `escape`: the part of an escape that arrived. */
  | { readonly at: "text"; readonly escape: string }
  /** After the text, or where the document is none. */
  | { readonly at: "end" };

const END: DocumentState = { at: "end" };
const SPACE = /^[ \t\r\n]$/;
/** Longer keys are none of ours. */
const MAX_KEY_CHARS = 8;

export const documentText: Transducer<string, string, DocumentState> = {
  start: () => ({ at: "top", expects: "brace", key: "" }),
  push(state, chunk) {
    let now = state;
    let text = "";
    for (let at = 0; at < chunk.length && now.at !== "end"; ) {
      if (now.at === "text" && now.escape === "") {
        const rest = chunk.slice(at);
        const stop = rest.search(/["\\]/);
        const plain = stop < 0 ? rest : rest.slice(0, stop);
        text += plain;
        at += plain.length;
        if (stop < 0) break;
      }
      const [next, written] = step(now, chunk[at] as string);
      now = next;
      text += written;
      at += 1;
    }
    return [now, text];
  },
  finish: () => "",
};

type Step = readonly [next: DocumentState, text: string];

function step(state: Exclude<DocumentState, { at: "end" }>, character: string): Step {
  switch (state.at) {
    case "top":
      return SPACE.test(character) ? [state, ""] : [atTop(state, character), ""];
    case "key":
      if (character === '"') return [{ at: "top", expects: "colon", key: state.key }, ""];
      return [state.key.length < MAX_KEY_CHARS ? { at: "key", key: state.key + character } : END, ""];
    case "other":
      return [within(state, character), ""];
    case "text":
      return inText(state, character);
  }
}

function atTop({ expects, key }: Extract<DocumentState, { at: "top" }>, character: string): DocumentState {
  if (expects === "brace") return character === "{" ? { at: "top", expects: "key", key } : END;
  if (expects === "key") return character === '"' ? { at: "key", key: "" } : END;
  if (expects === "colon") return character === ":" ? { at: "top", expects: "value", key } : END;
  if (expects === "comma") return character === "," ? { at: "top", expects: "key", key: "" } : END;
  if (key === "text") return character === '"' ? { at: "text", escape: "" } : END;
  return "[{".includes(character) ? { at: "other", depth: 1, within: "value" } : END;
}

function within(state: Extract<DocumentState, { at: "other" }>, character: string): DocumentState {
  if (state.within === "escape") return { ...state, within: "string" };
  if (state.within === "string") {
    if (character === "\\") return { ...state, within: "escape" };
    return character === '"' ? { ...state, within: "value" } : state;
  }
  if (character === '"') return { ...state, within: "string" };
  if ("[{".includes(character)) return { ...state, depth: state.depth + 1 };
  if (!"]}".includes(character)) return state;
  return state.depth === 1 ? { at: "top", expects: "comma", key: "" } : { ...state, depth: state.depth - 1 };
}

const ESCAPES: Readonly<Record<string, string>> = {
  '"': '"',
  "\\": "\\",
  "/": "/",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
};

function inText({ escape: begun }: Extract<DocumentState, { at: "text" }>, character: string): Step {
  if (begun === "") return character === '"' ? [END, ""] : [{ at: "text", escape: character }, ""];
  const written = begun + character;
  if (written === "\\u") return [{ at: "text", escape: written }, ""];
  if (begun === "\\") {
    const meant = Object.hasOwn(ESCAPES, character) ? ESCAPES[character] : undefined;
    return meant === undefined ? [END, ""] : [{ at: "text", escape: "" }, meant];
  }
  if (!/^[0-9a-fA-F]$/.test(character)) return [END, ""];
  if (written.length < 6) return [{ at: "text", escape: written }, ""];
  return [{ at: "text", escape: "" }, String.fromCharCode(Number.parseInt(written.slice(2), 16))];
}
