/**
 * Startup validation (P-1.6): can the default model be asked at all?
 *
 * U1. Its provider says how it is to be taken: `strict` starts no gateway without it, `warn` says one line, `off` does
 *     not look. Other providers are not contacted, and nothing is completed.
 * U2. A provider that does not answer in time is as one that does not answer, and one whose list of models lacks the model
 *     as one that does not know it. A provider that has no such list to show is taken at its word.
 * U3. The line says what to correct, and holds no key.
 */
import type { Clock } from "../runtime/ports/clock.ts";
import type { ModelBackend } from "../runtime/ports/model-backend.ts";
import type { Config, ProviderSettings } from "./config/config.ts";
import { resolveConfiguredModelRef } from "./config/resolve-configured-model-ref.ts";
import type { ChooseModel } from "./model-registry.ts";

type ModelFinding = Awaited<ReturnType<ModelBackend["inspect"]>>;

const MODES = ["strict", "warn", "off"] as const;
const TIMEOUT_MS = 5_000;

/** Where there is no default model to ask about, whichever provider takes it hardest. */
export function startupValidationOf(config: Config): ProviderSettings["startupValidation"] {
  const verdict = resolveConfiguredModelRef(config, null);
  if (verdict.ok) return verdict.resolved.provider.startupValidation;
  const asked = Object.values(config.models.providers).map(({ startupValidation }) => startupValidation);
  return MODES.find((mode) => asked.includes(mode)) ?? "warn";
}

/** What was found out about it, or why it cannot be used, in one line. */
export async function validateModel(
  chooseModel: ChooseModel,
  ref: string | null,
  clock: Pick<Clock, "wake">,
  stopped?: AbortSignal,
): Promise<ModelFinding> {
  const choice = chooseModel(ref);
  if (!choice.ok) return { ok: false, detail: choice.message };
  const waiting = new AbortController();
  const callOff = clock.wake(TIMEOUT_MS, () => waiting.abort());
  const signal = stopped === undefined ? waiting.signal : AbortSignal.any([waiting.signal, stopped]);
  try {
    return await choice.model.backend.inspect(signal);
  } finally {
    callOff();
  }
}
