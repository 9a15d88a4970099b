/**
 * The demo model's report about a call, and its request for a capability that a fetch lacked (S-2.3).
 *
 * T1. A failed or denied call is reported as such, with what to do.
 * T2. A result of an unexpected shape is shown as it is.
 * T3. It requests only the host it was asked to fetch; an operator decides.
 */
import { NOTES_BEGIN, NOTES_END } from "../../../kernel/protocol/markers.ts";
import { type Capability, parseCapability } from "../../../kernel/vocabulary/capability.ts";
import { fieldsOf, textOf } from "../wire-fields.ts";

const MAX_SHOWN_CHARS = 4_000;

export interface CompletedCall {
  readonly tool: string;
  readonly args: Readonly<Record<string, unknown>>;
  /** Content of the message of the role `tool`. */
  readonly result: string;
}

const ADVICE: Readonly<Record<string, string>> = {
  "tool.not_found": "`surety tools ls` shows the tools there are.",
  "tool.input_invalid": "Check the name and try again; `list files` shows what is there.",
  "invalid.request": "Check the name and try again; `list files` shows what is there.",
  "sandbox.required": "This machine cannot run it safely, so nothing was run.",
  timeout: "Try again, or ask for less at once.",
};

export function describeResult(call: CompletedCall): string {
  const { tool, args, result } = call;
  const envelope = fieldsOf(parse(result));
  if (typeof envelope?.["ok"] !== "boolean") return `${tool} answered:\n\n${shorten(result)}`;
  if (!envelope["ok"]) return describeFailure(call, envelope["error"]);
  const describe = DESCRIBERS[tool] ?? describeAny;
  return describe(envelope["output"], args, tool);
}

function describeFailure({ tool, args }: CompletedCall, error: unknown): string {
  const { code, message } = readError(error);
  if (code === "policy.denied") {
    const host = message.includes("not granted") ? (URL.parse(textOf(args["url"]))?.hostname ?? "") : "";
    const [reason, advice] = host === "" ? [message, adviceAfter(message)] : [`${host} is blocked`, grantFor(host)];
    return `${tool} was denied (${reason}), so nothing was done.${advice}`;
  }
  const named = code === "" ? message : `${message} (${code})`;
  return `${tool} failed: ${named}. ${ADVICE[code] ?? "Nothing else was tried."}`;
}

/** What else would allow it depends on the rule, which the result does not name. */
function adviceAfter(message: string): string {
  const mayBeAsked = message.startsWith("denied") && message !== "denied: nobody can be asked on this channel";
  return mayBeAsked ? " Approve it when asked." : "";
}

/** Addresses cannot be granted one by one. */
function grantFor(host: string): string {
  const capability = /^[\d.]+$|^\[/.test(host) ? "net" : `net:${host}`;
  return ` To let this session reach it: surety caps grant ${capability} --session SESSION`;
}

/** Reads `code: message`, as in a conversation (S-3.2), or an error of the tool envelope. */
function readError(error: unknown): { readonly code: string; readonly message: string } {
  const [, code, message] = /^([a-z_]+(?:\.[a-z_]+)*): (.+)$/s.exec(textOf(error)) ?? [];
  const text = message ?? (textOf(error) || textOf(fieldsOf(error)?.["message"]));
  return {
    code: code ?? textOf(fieldsOf(error)?.["code"]),
    message: text.trim().replace(/\.$/, "") || "no reason was given",
  };
}

type Describer = (output: unknown, args: CompletedCall["args"], tool: string) => string;

const DESCRIBERS: Readonly<Record<string, Describer>> = {
  "fs.list_dir": (output, args) => {
    const names = entryNames(output);
    if (names === null) return describeAny(output, args, "fs.list_dir");
    const place = textOf(args["path"]) || ".";
    if (names.length === 0) return `${place} is empty.`;
    const list = names.map((name) => `- ${name}`).join("\n");
    return `${place} holds ${names.length === 1 ? "one entry" : `${names.length} entries`}:\n\n${shorten(list)}${cutNote(output)}`;
  },
  "fs.read_text": (output, args) => {
    const text = contentOf(output);
    const name = textOf(args["path"]) || "The file";
    return text === "" ? `${name} is empty.` : `${name} says:\n\n${shorten(text)}${cutNote(output)}`;
  },
  "fs.write_text": (_, args) => `Done: ${textOf(args["path"]) || "the file"} is written.`,
  "shell.exec": (output, args) => {
    const { exit_code: exitCode, stdout, stderr } = fieldsOf(output) ?? {};
    const printed = [textOf(stdout), textOf(stderr)].filter((text) => text !== "").join("\n");
    const summary = `\`${textOf(args["cmd"])}\` ended with exit code ${exitCode ?? "unknown"}`;
    return printed === "" ? `${summary} and printed nothing.` : `${summary}:\n\n${shorten(printed)}${cutNote(output)}`;
  },
  "http.get": (output, args) => {
    const status = fieldsOf(output)?.["status"];
    const summary = `${textOf(args["url"])} answered${typeof status === "number" ? ` with ${status}` : ""}`;
    return `${summary}:\n\n${shorten(contentOf(output))}${cutNote(output)}`;
  },
  "agent.delegate": (output, args) => {
    const fields = Object.entries(fieldsOf(output) ?? {}).map(([name, value]) => `- ${name}: ${inWords(value)}`);
    const agent = textOf(args["agent"]) || "The sub-agent";
    return `${agent} answered:\n\n${shorten(fields.length === 0 ? contentOf(output) : fields.join("\n"))}`;
  },
  "memory.remember": (output) => `I will remember that [mem:${textOf(fieldsOf(output)?.["id"])}].`,
  "schedule.add": (output, args) => {
    const next = textOf(fieldsOf(output)?.["next_run"]);
    return `The reminder is set: ${textOf(args["schedule"])}${next === "" ? "" : `, next at ${next}`}.`;
  },
};

function describeAny(output: unknown, _: CompletedCall["args"], tool: string): string {
  return `${tool} answered:\n\n${shorten(contentOf(output))}`;
}

function inWords(value: unknown): string {
  if (Array.isArray(value)) return value.length === 0 ? "none" : value.map(inWords).join("; ");
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** Directories end in a slash; null if the output is not a listing. */
function entryNames(output: unknown): readonly string[] | null {
  const entries = Array.isArray(output) ? output : fieldsOf(output)?.["entries"];
  return Array.isArray(entries) ? entries.map(entryName) : null;
}

function entryName(entry: unknown): string {
  if (typeof entry === "string") return entry;
  const { name, path, type, kind } = fieldsOf(entry) ?? {};
  const isDirectory = [type, kind].some((word) => word === "dir" || word === "directory");
  return (textOf(name) || textOf(path) || JSON.stringify(entry)) + (isDirectory ? "/" : "");
}

function contentOf(output: unknown): string {
  if (typeof output === "string") return output;
  const { text, content, body } = fieldsOf(output) ?? {};
  const found = [text, content, body].find((value) => typeof value === "string");
  return textOf(found ?? JSON.stringify(output, null, 2) ?? "");
}

function cutNote(output: unknown): string {
  return fieldsOf(output)?.["truncated"] === true ? "\n\n(There is more; this was cut short.)" : "";
}

function shorten(text: string): string {
  const shown = [...text.slice(0, 2 * MAX_SHOWN_CHARS)].slice(0, MAX_SHOWN_CHARS).join("");
  return shown.length < text.length ? `${shown}\n…` : text;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** The wording of policy when a host is not granted. */
const NOT_GRANTED = /"error":"policy\.denied: [^"]*host that is not granted/;

/** A NOTES block that only the runtime reads; empty when there is nothing to request. */
export function capabilityRequests(calls: readonly CompletedCall[]): string {
  const actions = calls.flatMap((call) => {
    const capability = missingCapability(call);
    return capability === null ? [] : [`request_permission:${capability}`];
  });
  return actions.length === 0 ? "" : `\n${NOTES_BEGIN}${JSON.stringify({ actions })}${NOTES_END}`;
}

function missingCapability({ tool, args, result }: CompletedCall): Capability | null {
  if (tool !== "http.get" || !NOT_GRANTED.test(result)) return null;
  const url = URL.parse(textOf(args["url"]));
  return url === null ? null : parseCapability(`net:${url.hostname.replace(/\.$/, "")}`);
}
