/**
 * The messages of a request as what a run takes: the last one of the user, what was said before, and instructions.
 *
 * M1. Roles are mapped: system and developer are the client's instructions, wherever they stand. Messages of tools are
 *     refused, for no tool of a client is ever called.
 * M2. Images come as data URLs; an address is not fetched. Only those of the last message are shown to the model.
 */
import type { RunInput, SuppliedContext } from "../../assistant/runs/run-request.ts";
import { IMAGE_TYPES } from "../../runtime/model/image-facts.ts";
import { invalid } from "./openai-error.ts";
import { isFields, NO_TOOLS_OF_CLIENTS } from "./read-parameters.ts";

export type Media = NonNullable<RunInput["media"]>;

export interface Conversation extends SuppliedContext {
  readonly message: string;
  readonly media: Media;
}

interface Said {
  readonly role: "system" | "user" | "assistant";
  readonly text: string;
  readonly media: Media;
}

const ROLES: Readonly<Record<string, Said["role"]>> = {
  ...{ system: "system", developer: "system" },
  ...{ user: "user", assistant: "assistant" },
};
const IMAGE_SEEN_BEFORE = "[an image that was shown before]";

/** `isAlone`: a session knows what was said before, so only the user's last message counts. */
export function conversationOf(messages: unknown, param: string, isAlone: boolean): Conversation {
  if (!Array.isArray(messages) || messages.length === 0) throw invalid(param, `${param} must be a list, not empty.`);
  const said = messages.map((message: unknown, index) => saidIn(message, `${param}[${index}]`));
  const talk = said.filter(({ role }) => role !== "system");
  const at = talk.findLastIndex(({ role }) => role === "user");
  const last = talk[at];
  if (last === undefined) throw invalid(param, `${param} must hold a message of the user.`);
  if (!isAlone && at !== talk.length - 1) throw invalid(param, `The last of ${param} must be the user's.`);
  if (last.text.trim() === "") throw invalid(param, "The user's last message must have a text.");
  const instructions = said.flatMap(({ role, text }) => (role === "system" && text.trim() !== "" ? [text] : []));
  const before = talk.slice(0, at).map(({ role, text, media }) => ({
    role: role as "user" | "assistant",
    content: [text, ...media.map(() => IMAGE_SEEN_BEFORE)].join("\n").trim(),
  }));
  return {
    ...{ message: last.text, media: last.media },
    instructions: isAlone || instructions.length === 0 ? null : instructions.join("\n\n"),
    history: isAlone ? [] : before.filter(({ content }) => content !== ""),
  };
}

function saidIn(message: unknown, param: string): Said {
  if (!isFields(message)) throw invalid(param, `${param} must be an object with role and content.`);
  const { role, content } = message;
  const calls = message["tool_calls"] ?? message["function_call"] ?? null;
  if (role === "tool" || role === "function" || calls !== null) {
    throw invalid(param, `${param}: ${NO_TOOLS_OF_CLIENTS}`, "unsupported_value");
  }
  const type = message["type"] ?? "message";
  if (type !== "message") {
    throw invalid(`${param}.type`, `${param}.type can only be message here.`, "unsupported_value");
  }
  const known = typeof role === "string" && Object.hasOwn(ROLES, role) ? ROLES[role] : undefined;
  if (known === undefined)
    throw invalid(`${param}.role`, `${param}.role must be one of ${Object.keys(ROLES).join(", ")}.`);
  if (typeof content === "string") return { role: known, text: content, media: [] };
  if (content === null && known === "assistant") return { role: known, text: "", media: [] };
  if (!Array.isArray(content)) throw invalid(`${param}.content`, `${param}.content must be a text or a list of parts.`);
  const parts = content.map((part: unknown, index) => partIn(part, `${param}.content[${index}]`));
  const text = parts.flatMap((part) => (typeof part === "string" ? [part] : [])).join("\n");
  const media = parts.flatMap((part) => (typeof part === "string" ? [] : [part]));
  if (media.length > 0 && known !== "user") throw invalid(`${param}.content`, `${param}: images are the user's.`);
  return { role: known, text, media };
}

const TEXTS: readonly unknown[] = ["text", "input_text", "output_text", "refusal"];

function partIn(part: unknown, param: string): string | Media[number] {
  if (!isFields(part)) throw invalid(param, `${param} must be an object with a type.`);
  const { type } = part;
  if (TEXTS.includes(type)) {
    const text = part[type === "refusal" ? "refusal" : "text"];
    if (typeof text === "string") return text;
    throw invalid(`${param}.text`, `${param}.text must be a string.`);
  }
  if (type === "image_url" || type === "input_image") return imageIn(part["image_url"], `${param}.image_url`);
  throw invalid(`${param}.type`, `${param}.type must be text or an image.`, "unsupported_value");
}

const DATA_URL = /^data:([a-z]+\/[a-z]+);base64,/;

/** Chat completions wrap the address in an object. */
function imageIn(image: unknown, param: string): Media[number] {
  const url = isFields(image) ? image["url"] : image;
  if (typeof url !== "string") throw invalid(param, `${param} must be a data URL.`);
  const found = DATA_URL.exec(url);
  if (found === null) {
    const message = "Images at an address are not fetched: send the image itself, as data:image/png;base64,…";
    throw invalid(param, message, "invalid_image_url");
  }
  const [head, type] = found;
  const mimeType = IMAGE_TYPES.find((each) => each === type);
  if (mimeType === undefined)
    throw invalid(param, `${param} must be one of ${IMAGE_TYPES.join(", ")}.`, "invalid_image_format");
  return { type: "image", mime_type: mimeType, data: url.slice(head.length) };
}
