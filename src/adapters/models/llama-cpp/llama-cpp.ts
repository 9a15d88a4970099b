/**
 * A GGUF model in this process, through node-llama-cpp. Its decoding is held to the contract's grammar, so even a model with
 * random weights makes whole and valid calls.
 */
import type { ModelBackend } from "../../../runtime/ports/model-backend.ts";
import type { Profile } from "../profile.ts";
import { fault, inWords, unanswered } from "../provider-fault.ts";
import { chatPrompt } from "./chat-prompt.ts";
import { decode } from "./decode.ts";
import { readGgufHeader } from "./gguf-header.ts";
import { findPackage, PACKAGE_VERSION } from "./llama-package.ts";
import { LocalModelError } from "./local-model-error.ts";
import { type LocalModelSettings, LocalModels } from "./local-models.ts";

/** One for the process: memory holds one model, whichever configuration asks. */
const MODELS = new LocalModels();

export function llamaCpp(settings: LocalModelSettings, profile: Profile): ModelBackend {
  let asked = 0;
  return {
    check: async () => {
      const { ok, detail } = await inspect(settings);
      return { responsive: ok, detail };
    },
    inspect: () => inspect(settings),
    async complete(request, watch) {
      asked += 1;
      const nth = asked;
      try {
        const written = profile.rewrite(request);
        const reply = await MODELS.use(settings, watch.signal, async (model) => {
          return await decode(model, settings, chatPrompt(model, written.messages), written, nth, watch);
        });
        return reply ?? unanswered(fault("provider.cancelled"));
      } catch (error) {
        if (error instanceof LocalModelError) return unanswered(inWords(fault(error.code), error.message));
        throw error;
      }
    },
  };
}

/** A text begins and ends with tokens of its model. */
const FRAMING_TOKENS = 8;

/** The texts' vectors, one by one; a text longer than the window is cut. It takes its turn among the requests. */
export async function embedTexts(
  settings: LocalModelSettings,
  texts: readonly string[],
  signal: AbortSignal,
): Promise<readonly (readonly number[])[]> {
  const vectors = await MODELS.use(settings, signal, async (loaded) => {
    const context = await loaded.embeddings();
    const found: (readonly number[])[] = [];
    for (const text of texts) {
      signal.throwIfAborted();
      const tokens = loaded.model.tokenize(text).slice(0, settings.contextWindow - FRAMING_TOKENS);
      found.push((await context.getEmbeddingFor(tokens)).vector);
    }
    return found;
  });
  signal.throwIfAborted();
  return vectors ?? [];
}

async function inspect({
  modelPath,
  packageDirectory,
  contextWindow,
}: LocalModelSettings): Promise<{ readonly ok: boolean; readonly detail: string }> {
  try {
    await findPackage(packageDirectory);
    const { architecture, contextLength } = await readGgufHeader(modelPath);
    if (contextLength !== null && contextWindow > contextLength) {
      const detail = `The model file ${modelPath} holds ${contextLength} tokens of context, and its contextWindow is ${contextWindow}: lower it, or take a model that holds more.`;
      return { ok: false, detail };
    }
    return {
      ok: true,
      detail: `${architecture}, ${contextLength ?? "unknown"} tokens, node-llama-cpp ${PACKAGE_VERSION}`,
    };
  } catch (error) {
    if (error instanceof LocalModelError) return { ok: false, detail: error.message };
    throw error;
  }
}
