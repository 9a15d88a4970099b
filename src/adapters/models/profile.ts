/**
 * How a model is told of tools and calls them, whatever wire protocol carries it. Each profile goes with the kernel's
 * adapter that reads its answers.
 */
import type { ConfiguredModel, ModelRequest } from "../../runtime/ports/model-backend.ts";
import { writeMarkerRequest } from "./marker-request.ts";

export interface Profile extends Readonly<ConfiguredModel["profile"]> {
  /** What goes onto the wire instead of `request`. */
  rewrite(request: ModelRequest): ModelRequest;
}

export type ProfileId = "native-tools" | "marker-json";

export const PROFILES: Readonly<Record<ProfileId, Profile>> = {
  "native-tools": {
    id: "native-tools",
    adapterVersion: "native-tools@1",
    supportsTools: true,
    holdsRequired: true,
    grammarProfiles: [],
    rewrite: (request) => request,
  },
  "marker-json": {
    id: "marker-json",
    adapterVersion: "marker-json@1",
    supportsTools: true,
    // Nothing but the text asks for a call.
    holdsRequired: false,
    grammarProfiles: [],
    rewrite: writeMarkerRequest,
  },
};
