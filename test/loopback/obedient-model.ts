/**
 * A model that does what the user's message says, as a capable one would: calls what is listed there, once, and then answers
 * with the text it is given. It reads the message as prose and knows nothing of the code under test.
 *
 * O1. It calls only what it is offered, and when it is made to call something it calls something.
 * O2. It stops where the limit of tokens is reached, as servers do.
 */
export interface Prompt {
  readonly message: string;
  readonly hasResults: boolean;
  readonly offered: readonly string[];
  readonly mustCall: boolean;
  readonly maxTokens: number;
}

export interface WrittenCall {
  readonly name: string;
  readonly arguments: string;
}

export interface Writing {
  readonly text: string;
  readonly calls: readonly WrittenCall[];
  readonly isCut: boolean;
}

const CHARS_PER_TOKEN = 4;

export function obey(prompt: Prompt): Writing {
  const calls = intentions(prompt);
  return calls.length === 0 ? spoken(answerTo(prompt.message), prompt) : called(calls, prompt);
}

/** The same by a model whose calls stand in its text. */
export function obeyInText(prompt: Prompt): Writing {
  const calls = intentions(prompt);
  if (calls.length === 0) return spoken(answerTo(prompt.message), prompt);
  const array = calls.map((call, index) => `{"id":"t${index + 1}","tool":"${call.name}","args":${call.arguments}}`);
  return spoken(`<<<TOOL_CALLS_JSON>>>\n[${array.join(",")}]\n<<<END_TOOL_CALLS_JSON>>>`, prompt);
}

/** The same by a model whose answer is one document, with the fields that its schema requires. */
export function obeyInDocument(prompt: Prompt, required: readonly string[]): Writing {
  const calls = intentions(prompt).map((call) => `{"tool":"${call.name}","args":${call.arguments}}`);
  const text = calls.length === 0 ? answerTo(prompt.message) : "";
  const fields = [
    ...(calls.length > 0 || required.includes("calls") ? [`"calls":[${calls.join(",")}]`] : []),
    ...(calls.length === 0 || required.includes("text") ? [`"text":${JSON.stringify(text)}`] : []),
  ];
  return spoken(`{${fields.join(",")}}`, prompt);
}

function intentions({ message, hasResults, offered, mustCall }: Prompt): readonly WrittenCall[] {
  if (hasResults) return [];
  const listed = [...message.matchAll(/^- (\S+) (\{.*\})$/gm)].map(([, name = "", args = ""]) => ({
    name,
    arguments: args,
  }));
  const possible = listed.filter(({ name }) => offered.includes(name));
  const [first] = offered;
  return possible.length === 0 && mustCall && first !== undefined ? [{ name: first, arguments: "{}" }] : possible;
}

function answerTo(message: string): string {
  const lines = message.split("\n");
  const at = lines.findIndex((line) => line.startsWith("Answer with exactly this text"));
  const [answer = "What?", notes, json] = at === -1 ? [] : lines.slice(at + 1);
  return notes === undefined ? answer : `${answer}\n<<<NOTES_JSON>>>\n${json}\n<<<END_NOTES_JSON>>>`;
}

function spoken(text: string, { maxTokens }: Prompt): Writing {
  const room = maxTokens * CHARS_PER_TOKEN;
  return { text: text.slice(0, room), calls: [], isCut: text.length > room };
}

function called(calls: readonly WrittenCall[], { maxTokens }: Prompt): Writing {
  let room = maxTokens * CHARS_PER_TOKEN;
  const written: WrittenCall[] = [];
  for (const call of calls) {
    if (room <= 0) break;
    written.push({ ...call, arguments: call.arguments.slice(0, room) });
    room -= call.arguments.length;
  }
  return { text: "", calls: written, isCut: room < 0 };
}
