/** What the world saw, held against what the journal promised (security: what tools promise after a crash). */
import { eventsOf } from "../../../src/kernel/journal/entry.ts";
import type { Hash } from "../../../src/kernel/vocabulary/identifiers.ts";
import { intentKey } from "../scene.ts";
import { retriesOf } from "./authority-invariants.ts";
import { dispatchedIn, firstProblem, type Invariant, ofKind } from "./invariant.ts";

export const intendsBeforeActing: Invariant = {
  name: "an effect happens only after its intent was durable",
  ids: ["X-2"],
  check: ({ happenings }) => {
    const intended = new Set<string>();
    return firstProblem(happenings, (happening) => {
      if (happening.kind === "heard") {
        for (const { decided } of ofKind(happening.entries, "EXECUTE")) {
          intended.add(intentKey(happening.after.step, decided.callId, decided.planHash));
        }
      }
      if (happening.kind !== "performed") return null;
      const { turn, callId, planHash, tool } = happening.effect;
      return intended.has(intentKey(turn, callId, planHash)) ? null : `${tool} acted without an intent`;
    });
  },
};

export const actsAtMostOnce: Invariant = {
  name: "no opaque effect happens twice unless a person said retry",
  ids: ["X-2"],
  check: ({ happenings }) => {
    const counts = new Map<string, number>();
    return firstProblem(happenings, (happening) => {
      if (happening.kind !== "performed" || happening.effect.idempotency !== "opaque") return null;
      const { turn, callId, planHash, tool } = happening.effect;
      const key = intentKey(turn, callId, planHash);
      const count = (counts.get(key) ?? 0) + 1;
      counts.set(key, count);
      return count > 1 + retriesOf(happenings, turn, callId) ? `${tool} acted ${count} times for ${key}` : null;
    });
  },
};

export const repeatsWithTheSameKey: Invariant = {
  name: "a keyed call that is run again carries the key it had",
  ids: ["X-2"],
  check: (run) => {
    const keys = new Map<string, Hash | null>();
    return firstProblem(dispatchedIn(run), ({ command, turn }) => {
      if (command.type !== "run-tool") return null;
      const intent = intentKey(turn, command.callId, command.planHash);
      const known = keys.get(intent) ?? command.idempotencyKey;
      keys.set(intent, known);
      return known === command.idempotencyKey ? null : `${command.tool}: another key on repeat`;
    });
  },
};

export const waitsAfterRestore: Invariant = {
  name: "after a restore nothing but the question is dispatched until it is answered",
  ids: ["X-2"],
  check: ({ happenings }) => {
    let isOpen = false;
    return firstProblem(happenings, (happening) => {
      if (happening.kind === "heard") isOpen = happening.after.restored?.isOpen ?? false;
      if (!isOpen || happening.kind !== "dispatched" || happening.command.type === "ask-approval") return null;
      return `${happening.command.type} was dispatched`;
    });
  },
};

export const reportsEveryGap: Invariant = {
  name: "an opaque effect that a crash left in doubt is recorded as unknown before anything follows",
  ids: ["X-2"],
  check: ({ happenings, entries }) =>
    firstProblem(happenings, (happening) => {
      if (happening.kind !== "crashed" || happening.trace !== "in-doubt") return null;
      const { phase, chain } = happening.resumed;
      const callId = phase.at === "OBSERVE" ? phase.inFlight[0]?.callId : undefined;
      const observed = ofKind(entries, "OBSERVE").find((entry) => entry.seq > chain.seq);
      const isReported =
        observed?.decided.callId === callId &&
        eventsOf(observed as (typeof entries)[number]).some((event) => event.type === "effect.unknown");
      return isReported ? null : `after entry ${chain.seq}: ${callId} was not reported as unknown`;
    }),
};
