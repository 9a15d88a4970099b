/** The demo model's answers when there is nothing to do: the same words for the same request, and no pretence. */
import type { PromptImage } from "../../../runtime/ports/model-backend.ts";

const SELF = "I am Surety's built-in demo model: a few fixed rules, no network, no intelligence.";

const CAN_DO =
  "I can turn plain requests into real tool calls, so that you can see runs, approvals, the journal and replay";

const EXAMPLES: readonly (readonly [tool: string, request: string])[] = [
  ["fs.list_dir", "list files, list files in DIR"],
  ["fs.read_text", "read notes.txt"],
  ["fs.write_text", "write hello to a.txt"],
  ["shell.exec", "run ls -la"],
  ["http.get", "fetch https://example.org"],
  ["agent.delegate", "ask the research agent about sea otters"],
  ["memory.remember", "remember that the key is under the mat"],
  ["schedule.add", "remind me every 1h to stretch, remind me tomorrow at 9 to call home"],
];

const CONFIGURE = [
  "For a real model, name a provider in surety.json5 of your home, for example",
  "",
  "  models: {",
  '    default: "openai:MODEL",',
  "    providers: {",
  "      openai: {",
  '        baseUrl: "https://api.openai.com/v1",',
  "        models: { MODEL: { contextWindow: 128000, maxOutputTokens: 8192 } },",
  "      },",
  "    },",
  "  }",
  "",
  "and put its key into .env beside it (OPENAI_API_KEY=…). Both count at once, also while the gateway runs.",
  "In the browser, Models and spend does the same. `surety config schema` describes every setting.",
].join("\n");

/** P-2.5: asked for its instructions, it says in a sentence what they are for. */
const NO_PROMPTS = `I don't share my instructions; they say how to answer and to act only through the tools I am offered. ${SELF}`;

/** The first match counts. */
const RULES: readonly (readonly [pattern: RegExp, answer: string | ((offered: readonly string[]) => string)])[] = [
  [
    /\b(?:system|base|your|hidden|initial|secret) (?:prompts?|instructions?|rules)\b|\binstructions (?:above|you were given)/i,
    NO_PROMPTS,
  ],
  [/\b(?:configure|config|set ?up|real model|provider|api key|openai|anthropic|ollama)\b/i, `${SELF} ${CONFIGURE}`],
  [/\bhelp\b|what can (?:you|i) (?:do|ask)|how do(?:es)? (?:this|i|it)/i, helpWith],
  [/(?:who|what) are you|your name|are you (?:a|an|real)\b/i, `${SELF} Say "help" to see what I can do.`],
  [
    /^\W*(?:hi|hello|hey|good (?:morning|afternoon|evening|day)|greetings)\b/i,
    `Hello. ${SELF} Say "help" to see what I can do.`,
  ],
  [/\b(?:thanks|thank you|cheers)\b/i, "You are welcome."],
  [/^\W*(?:bye|goodbye|see you)\b/i, "Goodbye."],
];

const LOST = `I did not understand that. ${SELF} Say "help" to see what I can do and how to set up a real model.`;

/** `offered`: the tools of this run; help mentions no others. */
export function smallTalk(message: string, offered: readonly string[]): string {
  // Of its own schedule: there is nothing to do but to say it.
  if (/^reminder\b/i.test(message)) return message;
  const answer = RULES.find(([pattern]) => pattern.test(message))?.[1] ?? LOST;
  return typeof answer === "string" ? answer : answer(offered);
}

function helpWith(offered: readonly string[]): string {
  const requests = EXAMPLES.filter(([tool]) => offered.includes(tool)).map(([, request]) => `- ${request}`);
  const list = requests.length === 0 ? "; but this run has no tool for that." : `:\n\n${requests.join("\n")}`;
  return `${SELF}\n\n${CAN_DO}${list}\n\n${CONFIGURE}`;
}

/** From the files' own facts: the demo sees nothing in them. */
export function describeImages(images: readonly PromptImage[]): string {
  const count = images.length === 1 ? "one image" : `${images.length} images`;
  const list = images.map(({ mimeType, width, height, data }) => {
    return `- ${mimeType}, ${Buffer.byteLength(data, "base64")} bytes, ${width} x ${height} pixels`;
  });
  return `I was given ${count}:\n\n${list.join("\n")}\n\nI am Surety's built-in demo model and see nothing on ${images.length === 1 ? "it" : "them"}: that takes a real model with supportsVision. Say "help" to see how to set one up.`;
}
