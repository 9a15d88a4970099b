/** What the demo model says when nothing is to be done: the same words for the same message, and no pretence. */

const SELF = "I am Surety's built-in demo model: a few fixed rules, no network, no intelligence.";

const CAN_DO = [
  "I can turn plain requests into real tool calls, so that you can see runs, approvals, the journal and replay:",
  "",
  "- list files, list files in DIR",
  "- read notes.txt",
  "- write hello to a.txt",
  "- run ls -la",
  "- fetch https://example.org",
  "- remember that the key is under the mat",
  "- remind me every 1h to stretch",
].join("\n");

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
  "put its key into .env beside it (OPENAI_API_KEY=…), and start again. `surety config schema` describes every setting.",
].join("\n");

const RULES: readonly (readonly [pattern: RegExp, answer: string])[] = [
  [/\b(?:configure|config|set ?up|real model|provider|api key|openai|anthropic|ollama)\b/i, `${SELF} ${CONFIGURE}`],
  [/\bhelp\b|what can (?:you|i) (?:do|ask)|how do(?:es)? (?:this|i|it)/i, `${SELF}\n\n${CAN_DO}\n\n${CONFIGURE}`],
  [/(?:who|what) are you|your name|are you (?:a|an|real)\b/i, `${SELF} Say "help" to see what I can do.`],
  [
    /^\W*(?:hi|hello|hey|good (?:morning|afternoon|evening|day)|greetings)\b/i,
    `Hello. ${SELF} Say "help" to see what I can do.`,
  ],
  [/\b(?:thanks|thank you|cheers)\b/i, "You are welcome."],
  [/^\W*(?:bye|goodbye|see you)\b/i, "Goodbye."],
];

const LOST = `I did not understand that. ${SELF} Say "help" to see what I can do and how to set up a real model.`;

export function talkAbout(message: string): string {
  return RULES.find(([pattern]) => pattern.test(message))?.[1] ?? LOST;
}
