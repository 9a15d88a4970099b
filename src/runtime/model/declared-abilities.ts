/**
 * Asks a model only for what it was declared to support.
 *
 * Without native tools it is offered none, and preflight refuses a contract that requires some; a profile that writes its
 * calls into the text needs none. A service that cannot force a tool call is not asked to, and preflight knows that it
 * cannot hold strict_mode, tool_policy required or token_gate. A model that cannot stream delivers its whole answer at the end.
 */
import type { ConfiguredModel, ModelBackend, ModelRequest } from "../ports/model-backend.ts";

interface Declared {
  readonly supportsTools: boolean;
  readonly supportsStreaming: boolean;
  readonly holdsToolChoice: boolean;
}

export function withDeclaredAbilities(model: ConfiguredModel, declared: Declared): ConfiguredModel {
  const { profile, backend } = model;
  const isNative = profile.id === "native-tools";
  const supportsTools = profile.supportsTools && (declared.supportsTools || !isNative);
  const canBeHeld = declared.holdsToolChoice || !isNative;
  if (supportsTools && canBeHeld && declared.supportsStreaming) return model;
  return {
    ...model,
    profile: { ...profile, supportsTools, holdsRequired: profile.holdsRequired && supportsTools && canBeHeld },
    backend: {
      ...backend,
      complete: (request, watch) => {
        const asked = within(request, supportsTools, canBeHeld);
        return declared.supportsStreaming ? backend.complete(asked, watch) : completeWhole(backend, asked, watch);
      },
    },
  };
}

function within(request: ModelRequest, supportsTools: boolean, canBeHeld: boolean): ModelRequest {
  if (!supportsTools) return { ...request, tools: [], toolChoice: "none" };
  return request.toolChoice === "required" && !canBeHeld ? { ...request, toolChoice: "auto" } : request;
}

const completeWhole: (
  backend: ModelBackend,
  ...asked: Parameters<ModelBackend["complete"]>
) => ReturnType<ModelBackend["complete"]> = async (backend, request, { signal, onText }) => {
  const reply = await backend.complete(request, { signal, onText: null });
  if (reply.ok) onText?.(reply.raw.content);
  return reply;
};
