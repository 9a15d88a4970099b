/**
 * A model is asked only for what it was declared to be able to do.
 *
 * A1. A model without native tools is offered none; preflight then refuses a contract that requires some. A profile that
 *     writes its calls into the text needs no native tools.
 * A2. A service that cannot force a tool call is not asked to; preflight knows that it cannot hold strict_mode,
 *     tool_policy required and token_gate.
 * A3. A model that cannot stream is asked for the whole answer, which is delivered at the end.
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
