/**
 * How a model is offered tools and calls them, whatever the wire protocol. Each profile belongs to the kernel adapter that
 * reads its answers.
 */
import type { ConfiguredModel, ModelRequest } from "../../runtime/ports/model-backend.ts";
import { writeMarkerRequest } from "./marker-request.ts";

export interface Profile extends Readonly<ConfiguredModel["profile"]> {
  /** The request that is sent instead. */
  rewrite(request: ModelRequest): ModelRequest;
}

export type ProfileId = "native-tools" | "marker-json";

export const PROFILES: Readonly<Record<ProfileId, Profile>> = {
  "native-tools": {
    id: "native-tools",
    adapterVersion: "native-tools@2",
    supportsTools: true,
    holdsRequired: true,
    grammarProfiles: [],
    rewrite: (request) => request,
  },
  "marker-json": {
    id: "marker-json",
    adapterVersion: "marker-json@2",
    supportsTools: true,
    // Only the prompt asks for a call.
    holdsRequired: false,
    grammarProfiles: [],
    rewrite: writeMarkerRequest,
  },
};
