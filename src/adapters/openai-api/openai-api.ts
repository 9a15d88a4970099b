/**
 * The OpenAI-compatible API, as mounts: programs written for OpenAI's chat completions, responses and list of models
 * work with an agent of this home.
 *
 * O1. Each answer comes from a run like any other, with contract, journal and receipt; `x-surety-run-id` names it.
 * O2. Tools of the client are refused: the agent calls its own, under its own policy.
 * O3. Errors have OpenAI's shape, those of the gateway included.
 */
import type { Mount, Serve } from "../../runtime/operations/mount.ts";
import { chatCompletions } from "./chat-completions.ts";
import { ApiError, gatewayErrorBody } from "./openai-error.ts";
import { type ApiServices, modelIds, noSuchModel } from "./read-target.ts";
import { responses } from "./responses.ts";

/** The images of a message, in Base64, and its text. */
const MAX_BODY_BYTES = 12_582_912;
const MODELS = "/v1/models";

export function openAiApi(services: ApiServices): readonly Mount[] {
  const mount = (paths: Mount["paths"], methods: readonly string[], serve: Serve): Mount => ({
    ...{ paths, methods, scope: "operate", maxBodyBytes: MAX_BODY_BYTES, errorBody: gatewayErrorBody },
    load: () => Promise.resolve(withErrors(serve)),
  });
  return [
    mount(["/v1/chat/completions"], ["POST"], (request, caller) => chatCompletions(services, request, caller)),
    mount(["/v1/responses"], ["POST"], (request, caller) => responses(services, request, caller)),
    mount([MODELS, `${MODELS}/*`], ["GET"], (request) => listModels(services, request)),
  ];
}

function withErrors(serve: Serve): Serve {
  return async (request, caller) => {
    try {
      return await serve(request, caller);
    } catch (error) {
      if (error instanceof ApiError) return error.response;
      throw error;
    }
  };
}

function listModels({ catalog }: ApiServices, request: Request): Response {
  const path = new URL(request.url).pathname;
  const data = modelIds(catalog()).map((id) => ({ id, object: "model", created: 0, owned_by: "surety" }));
  if (path === MODELS) return Response.json({ object: "list", data });
  const found = data.find(({ id }) => [id, encodeURIComponent(id)].includes(path.slice(MODELS.length + 1)));
  if (found === undefined) throw noSuchModel();
  return Response.json(found);
}
