/**
 * A gateway lets go of what nobody needs any more: some time after it began, when nobody waits for it, and daily.
 *
 * T1. It begins anew only when it has ended. What fails is told, and tried again the next day.
 */
import type { Clock } from "../runtime/ports/clock.ts";

const FIRST_AFTER_MS = 10_000;
const AGAIN_AFTER_MS = 24 * 3_600_000;

/** Returns how to stop. */
export function keepTidy(
  clock: Pick<Clock, "wake">,
  tidy: () => Promise<void>,
  onFailure: (error: unknown) => void,
): () => void {
  let isStopped = false;
  const work = async (): Promise<void> => {
    await tidy().catch(onFailure);
    if (!isStopped) callOff = clock.wake(AGAIN_AFTER_MS, work);
  };
  let callOff = clock.wake(FIRST_AFTER_MS, work);
  return () => {
    isStopped = true;
    callOff();
  };
}
