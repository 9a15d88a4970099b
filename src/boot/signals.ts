/** The first Ctrl-C stops gracefully; the second exits at once, which every run survives. */
import { EXIT } from "./boot-error.ts";

export function onInterrupt(stop: () => Promise<unknown>): () => void {
  let wasAsked = false;
  const hear = (): void => {
    if (wasAsked) process.exit(EXIT.interrupted);
    wasAsked = true;
    stop().catch(() => process.exit(EXIT.interrupted));
  };
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, hear);
  return () => {
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.off(signal, hear);
  };
}

/** As Ctrl-C does where the terminal does not give it to the editor of a line. */
export function interrupt(): void {
  process.kill(process.pid, "SIGINT");
}
