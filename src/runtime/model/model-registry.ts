/**
 * The configured models, made when they are first asked for; and the check whether one can be asked at all (P-1.6).
 *
 * A model that cannot be made (a missing key) fails alone: no other is tried in its place (P-0).
 */
import type { Clock } from "../ports/clock.ts";
import type { ConfiguredModel, ModelBackend } from "../ports/model-backend.ts";

export type ModelChoice =
  | { readonly ok: true; readonly model: ConfiguredModel }
  | { readonly ok: false; readonly message: string };

/** Null: the default model. */
export type FindModel = (ref: string | null) => ModelChoice;

export type ResolvedSource =
  | { readonly ok: true; readonly ref: string; readonly make: () => ModelChoice }
  | { readonly ok: false; readonly message: string };

export function createModelRegistry(resolve: (ref: string | null) => ResolvedSource): FindModel {
  const made = new Map<string, ModelChoice>();
  return (asked) => {
    const source = resolve(asked);
    if (!source.ok) return source;
    const choice = made.get(source.ref) ?? source.make();
    // A failure is not cached: a missing key may be there the next time.
    if (choice.ok) made.set(source.ref, choice);
    return choice;
  };
}

const VALIDATION_TIMEOUT_MS = 5_000;

/**
 * Asks the provider for its list of models, never for a completion. A provider that does not answer in time counts as
 * down; one that has no list is believed. The detail is one line that says what to correct, and holds no key.
 */
export async function validateModel(
  find: FindModel,
  ref: string | null,
  clock: Pick<Clock, "wake">,
  stopped?: AbortSignal,
): Promise<Awaited<ReturnType<ModelBackend["inspect"]>>> {
  const choice = find(ref);
  if (!choice.ok) return { ok: false, detail: choice.message };
  const waiting = new AbortController();
  const callOff = clock.wake(VALIDATION_TIMEOUT_MS, () => waiting.abort());
  const signal = stopped === undefined ? waiting.signal : AbortSignal.any([waiting.signal, stopped]);
  try {
    return await choice.model.backend.inspect(signal);
  } finally {
    callOff();
  }
}
