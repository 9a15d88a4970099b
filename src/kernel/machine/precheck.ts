/**
 * PRECHECK: can this contract be carried out at all? Nothing is sent to a model here; the backend is checked only after
 * every local check has passed. The entry `run.created` holds every verdict reached, even if the run was cancelled
 * meanwhile.
 */
import { backendVerdict, type PreflightVerdict, preflight } from "../contract/preflight.ts";
import type { EventOf, RunEvent } from "../journal/event.ts";
import { nextInference } from "./allowance.ts";
import { interruptionOf } from "./deadline.ts";
import type { Phase } from "./state.ts";
import { emit, fail, type Moved, moveTo, record, type Turn, update, wait } from "./turn.ts";

type Prechecking = Extract<Phase, { at: "PRECHECK" }>;

export function handleInPrecheck(turn: Turn, phase: Prechecking, event: RunEvent): Moved | null {
  const { state } = turn;
  const interruption = interruptionOf(state, event);
  if (interruption !== null) {
    return fail(emit(recordCreated(turn, phase.verdicts), { type: "stop-work" }), interruption);
  }
  if (event.type === "run.accepted" && state.accepted === null) return accept(turn, event);
  if (event.type === "backend.checked" && state.accepted !== null) {
    return conclude(turn, [...phase.verdicts, backendVerdict(event.responsive, event.detail)]);
  }
  return null;
}

function accept(turn: Turn, event: EventOf<"run.accepted">): Moved {
  const verdicts = preflight(turn.state.contract, {
    promptTokens: event.prompt.tokens,
    tools: event.tools,
    profile: event.profile,
  });
  const accepted = update(turn, {
    accepted: event,
    labels: event.labels,
    prompt: { head: event.prompt.head, tokens: event.prompt.tokens },
    phase: { at: "PRECHECK", verdicts },
  });
  if (verdicts.some((verdict) => verdict.failure !== null)) return conclude(accepted, verdicts);
  return wait(emit(accepted, { type: "check-backend" }));
}

function conclude(turn: Turn, verdicts: readonly PreflightVerdict[]): Moved {
  const recorded = recordCreated(turn, verdicts);
  const failure = verdicts.at(-1)?.failure ?? null;
  if (failure !== null) return fail(recorded, failure);
  const next = nextInference(recorded.state, "normal");
  return typeof next === "string" ? fail(recorded, next) : moveTo(recorded, next);
}

export function recordCreated(turn: Turn, verdicts: readonly PreflightVerdict[]): Turn {
  const { accepted, contract } = turn.state;
  const principal = accepted?.principal ?? "system";
  return record(
    turn,
    "run.created",
    {
      messageRef: accepted?.messageRef ?? null,
      principal,
      contractHash: contract.contractHash,
      verdicts: [...verdicts],
    },
    { actor: principal },
  );
}
