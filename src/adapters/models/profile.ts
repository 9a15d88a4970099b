/**
 * How a model is offered tools and calls them, whatever the wire protocol. Each profile belongs to the kernel adapter that
 * reads its answers.
 */
import { GRAMMAR_PROFILES } from "../../kernel/contract/grammar-profile.ts";
import { newestAdapter } from "../../kernel/protocol/adapter-for.ts";
import type { ConfiguredModel, ModelRequest } from "../../runtime/ports/model-backend.ts";
import { writeGrammarRequest } from "./grammar-request.ts";
import { writeMarkerRequest } from "./marker-request.ts";

export interface Profile extends Readonly<ConfiguredModel["profile"]> {
  /** The request that is sent instead. */
  rewrite(request: ModelRequest): ModelRequest;
}

export type ProfileId = "native-tools" | "marker-json" | "grammar-json";

export const PROFILES: Readonly<Record<ProfileId, Profile>> = {
  "native-tools": {
    id: "native-tools",
    adapterVersion: newestAdapter("native-tools@1"),
    supportsTools: true,
    holdsRequired: true,
    grammarProfiles: [],
    rewrite: (request) => request,
  },
  "marker-json": {
    id: "marker-json",
    adapterVersion: newestAdapter("marker-json@1"),
    supportsTools: true,
    // Only the prompt asks for a call.
    holdsRequired: false,
    grammarProfiles: [],
    rewrite: writeMarkerRequest,
  },
  "grammar-json": {
    id: "grammar-json",
    adapterVersion: newestAdapter("grammar-json@1"),
    supportsTools: true,
    holdsRequired: true,
    grammarProfiles: [...GRAMMAR_PROFILES],
    rewrite: writeGrammarRequest,
  },
};
