/**
 * What a run was accepted with, stored with the run until it ends, so that it can start, or start again.
 *
 * System texts are named by id, because they are never stored as content (P-2.5); everything else is named by ref.
 */
import type { EventOf } from "../../kernel/journal/event.ts";
import { escapeMarkers } from "../../kernel/protocol/escape-markers.ts";
import { cutText } from "../../kernel/vocabulary/cut-text.ts";
import { Defect } from "../../kernel/vocabulary/defect.ts";
import type { BodyRef, Hash } from "../../kernel/vocabulary/identifiers.ts";
import type { Labels } from "../../kernel/vocabulary/labels.ts";
import type { ThinkingLevel } from "../../kernel/vocabulary/thinking-level.ts";
import type { ImageType } from "../model/image-facts.ts";
import type { ReplyAddress } from "../ports/channel.ts";
import type { PromptImage, PromptMessage } from "../ports/model-backend.ts";

export type OpeningItem =
  /** A prompt text, by its id. `isQuotable`: answers may repeat it. */
  | { readonly role: "system"; readonly id: string; readonly isQuotable?: true }
  /** What the workspace's AGENTS.md says, or the session or the agent remembers: its markers are escaped. */
  | { readonly role: "system"; readonly ref: BodyRef }
  | {
      readonly role: "user" | "assistant";
      readonly ref: BodyRef;
      /** Describes parts that are not sent again, such as images of an earlier run. */
      readonly note?: string;
      /** Of an earlier turn (O-6.1), in code points. */
      readonly maxChars?: number;
    }
  /** Calls of an earlier turn with their results, told in short. */
  | { readonly role: "calls"; readonly calls: readonly OpeningCall[] };

export interface OpeningCall {
  readonly callId: string;
  readonly tool: string;
  readonly argsRef: BodyRef;
  readonly ref: BodyRef;
}

/** What a prompt consists of (P-2.1), in the order in which it is sent; ids, refs, hashes and counts only. */
export interface PromptManifest {
  readonly layers: readonly ManifestLayer[];
  readonly leftOut: {
    readonly turns: number;
    readonly calls: number;
    /** Tools that would be granted, had their descriptions fitted; absent: none. */
    readonly tools?: readonly string[];
    /** Why the workspace's AGENTS.md was not sent though it is there; absent: it was sent, or there is none. */
    readonly agentFile?: string;
  };
}

export type ManifestLayer =
  | {
      readonly layer: "base" | "agent" | "channel" | "protocol";
      readonly id: string;
      readonly sha256: Hash;
      readonly tokens: number;
    }
  /** A file of the workspace; `isCut`: only its beginning was sent. */
  | {
      readonly layer: "agent";
      readonly file: string;
      readonly ref: BodyRef;
      readonly sha256: Hash;
      readonly tokens: number;
      readonly integrity: Labels["integrity"];
      readonly isCut: boolean;
    }
  | { readonly layer: "context"; readonly ref: BodyRef; readonly revision: number; readonly tokens: number }
  /** Of what was found for the message; by ids. */
  | { readonly layer: "memory"; readonly ref: BodyRef; readonly memories: readonly string[]; readonly tokens: number }
  /** Turns by their runs; of a conversation that the client keeps, messages by their refs. */
  | { readonly layer: "history"; readonly turns: readonly string[]; readonly tokens: number }
  /** The client's own. */
  | { readonly layer: "instructions"; readonly ref: BodyRef; readonly tokens: number }
  | { readonly layer: "user"; readonly ref: BodyRef; readonly tokens: number }
  | { readonly layer: "tools"; readonly names: readonly string[]; readonly tokens: number };

/** What the client says was said before, by ref; markers are escaped. */
export interface SuppliedRefs {
  readonly instructions: BodyRef | null;
  readonly history: readonly { readonly role: "user" | "assistant"; readonly ref: BodyRef }[];
}

/** Which turns a compaction condenses. */
export interface Condensing {
  /** The position of the last of them. */
  readonly through: number;
  /** All turns that the new summary covers, those of the summary before it included. */
  readonly turns: number;
  /** The condensed turns, by run, after the compaction that wrote the summary before this one, which names its own. */
  readonly evidence: readonly string[];
  /** Of the summary; a longer one is not used. */
  readonly maxTokens: number;
  /** Condensed turns are no longer sent as messages, even where there is room for them. */
  readonly trims: boolean;
}

export interface Acceptance {
  readonly event: Omit<EventOf<"run.accepted">, "ts" | "elapsedMs">;
  /** Absent: the provider's default. */
  readonly thinkingLevel?: ThinkingLevel;
  /** No operator is asked on its behalf, now or after a restart. */
  readonly isUnattended?: true;
  /** The run continues a session: its prompt is completed when it begins, because earlier turns may still be going on. */
  readonly continuesSession?: true;
  /** The client keeps the conversation; absent: it sent the message alone. */
  readonly supplied?: SuppliedRefs;
  /** Where the answer is delivered; absent: the client fetches it. */
  readonly reply?: ReplyAddress;
  /** The position of the last turn that `condense_now` of this run takes out of later prompts; absent: none. */
  readonly trimsThrough?: number;
  /** A compaction: its answer becomes the session's summary. */
  readonly condenses?: Condensing;
  readonly opening: readonly OpeningItem[];
  /** Absent from runs of earlier versions. */
  readonly manifest?: PromptManifest;
}

/** Not validated: we wrote it to our own store. */
export function readAcceptance(json: string): Acceptance {
  return JSON.parse(json) as Acceptance;
}

/** Null when it is damaged. */
export function findAcceptance(json: string): Acceptance | null {
  let acceptance: Partial<Acceptance> | null;
  try {
    acceptance = JSON.parse(json);
  } catch {
    return null;
  }
  return acceptance?.event === undefined || !Array.isArray(acceptance.opening) ? null : (acceptance as Acceptance);
}

export function openingRefs({ opening, event }: Acceptance): readonly BodyRef[] {
  const said = opening.flatMap((item) => {
    if (item.role === "calls") return item.calls.flatMap(({ argsRef, ref }) => [argsRef, ref]);
    return "id" in item ? [] : [item.ref];
  });
  return event.media === undefined ? said : [...said, ...event.media.map(({ ref }) => ref)];
}

/** The ids of the prompt texts that no answer may repeat (P-2.5). */
export function protectedPromptIds({ opening }: Pick<Acceptance, "opening">): readonly string[] {
  return opening.flatMap((item) => (item.role === "system" && "id" in item && !item.isQuotable ? [item.id] : []));
}

export function openingMessages(
  { opening, event }: Acceptance,
  systemText: (id: string) => string,
  read: (ref: BodyRef) => string | null,
): readonly PromptMessage[] {
  const textAt = (ref: BodyRef): string => read(ref) ?? "[erased]";
  const messages = opening.flatMap((item): readonly PromptMessage[] => {
    if (item.role === "calls") return callMessages(item.calls, textAt);
    if (item.role === "system") {
      return [{ role: "system", content: "id" in item ? systemText(item.id) : textAt(item.ref) }];
    }
    const { role, ref, note, maxChars } = item;
    const whole = note === undefined ? textAt(ref) : `${textAt(ref)}\n${note}`;
    const content = maxChars === undefined ? whole : cutText(whole, maxChars);
    return [role === "user" ? { role, content: escapeMarkers(content) } : { role, content, toolCalls: [] }];
  });
  return event.media === undefined ? messages : withImages(messages, event.media, read);
}

/** The call is made again for protocols that want one before each result (design §8). */
function callMessages(calls: readonly OpeningCall[], textAt: (ref: BodyRef) => string): readonly PromptMessage[] {
  const toolCalls = calls.map(({ callId, tool, argsRef }) => {
    const args = textAt(argsRef);
    return { id: callId, tool, argumentsText: args.startsWith("{") ? args : "{}" };
  });
  const results = calls.map(({ callId, tool, ref }): PromptMessage => {
    return { role: "tool", callId, tool, content: escapeMarkers(textAt(ref)) };
  });
  return [{ role: "assistant", content: "", toolCalls }, ...results];
}

/** The last message carries the images. */
function withImages(
  messages: readonly PromptMessage[],
  media: NonNullable<Acceptance["event"]["media"]>,
  read: (ref: BodyRef) => string | null,
): readonly PromptMessage[] {
  const message = messages.at(-1);
  if (message?.role !== "user") throw new Defect("acceptance: images without a user message");
  const kept = media.map((image) => ({ image, data: read(image.ref) }));
  const images = kept.flatMap(({ image: { mimeType, width, height }, data }): readonly PromptImage[] =>
    // Only images of these types are ever accepted.
    data === null ? [] : [{ mimeType: mimeType as ImageType, width, height, data }],
  );
  const content = images.length === kept.length ? message.content : `${message.content}\n[image erased]`;
  return messages.with(-1, { role: "user", content, images });
}
