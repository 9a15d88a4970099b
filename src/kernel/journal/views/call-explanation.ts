/**
 * A call in the words a person reads: what was called, and why it was not run or failed, with what to do. Live output, the
 * event stream, the run record and the WebSocket say the same.
 *
 * The words are made here, from recorded facts (rule, answers, hosts, session), so that older journals get them too. The
 * model reads the recorded words, which never change (`shownError`).
 */
import { parseCapability } from "../../vocabulary/capability.ts";
import { adviceOn } from "../../vocabulary/failures.ts";
import { argsOf, type Lookup } from "./body-content.ts";
import { type ShownError, shownError } from "./call-outcome.ts";
import type { TimelineItem } from "./run-timeline.ts";

type EndedCall = Pick<Extract<TimelineItem, { kind: "call-ended" }>, "call" | "outcome" | "question" | "sessionId">;

/** Null for a call that succeeded. */
export function explainCall(ended: EndedCall, lookup: Lookup): ShownError | null {
  const { outcome } = ended;
  const error = shownError(outcome, lookup);
  if (error === null || outcome.refusedBy === null) return error;
  const why = whyNotRun(outcome.refusedBy, ended);
  return why === null ? error : { ...error, message: `Not run: ${why}` };
}

/** Null where the recorded words are the best there are, as a tool's own. */
function whyNotRun(
  rule: string,
  { call: { tool }, question: { hosts, answers }, sessionId }: EndedCall,
): string | null {
  const answer = answers.at(-1);
  if (answer !== undefined && answer.decision !== "allow") {
    const hadAllowed = answers.some(({ decision }) => decision === "allow");
    if (hadAllowed) return EXPIRED_APPROVAL;
    if (answer.decision === "deny") return `denied by user (${answer.by}).`;
    const missing =
      answer.decision === "expired"
        ? "it needs approval, and no one answered in time."
        : "it needs approval, and no one could be asked.";
    return `${missing} ${howToApprove(rule, tool)}`;
  }
  const exception = /^policy\.exception\.(\d+)$/.exec(rule)?.[1];
  if (exception !== undefined)
    return `tools.policy.exceptions[${exception}] forbids it. See your exceptions: surety config get tools.policy.exceptions`;
  const risk = /^policy\.risk\.(\w+)$/.exec(rule)?.[1];
  if (risk !== undefined)
    return `tools.policy.risk.${risk} denies it. To be asked instead: surety config set tools.policy.risk.${risk} approve`;
  switch (rule) {
    case "policy.contract":
      return `${tool} is not among this run's tools, which were fixed when it started. See why: surety policy explain ${tool} '{}'`;
    case "policy.kill-switch":
      return "side effects are switched off. Switch them on: surety config unset tools.policy.sideEffects";
    case "policy.not-allowlisted":
      return `${tool} is not in tools.policy.allow. Allow it: surety config add tools.policy.allow ${tool}`;
    case "policy.channel":
      return `${tool} is not in tools.policy.channels for the channel of this run. See who may call it: surety policy show`;
    case "policy.capability":
      return blockedHosts(hosts, sessionId);
    case "policy.latch":
      return "its session has meanwhile read private and untrusted data, so the earlier answer no longer counts. Run it again to be asked.";
    case "approval.expired":
      return EXPIRED_APPROVAL;
    case "approval.plan-changed":
      return "what it would do changed after it was approved. Run it again to see the new plan.";
    case "contract.strict-batch":
      return "another call of the same batch was refused, and strict mode performs a batch as a whole.";
    case "budget.carved":
      return "the run cannot afford what it would delegate. Raise its limits, or narrow the task.";
    default: {
      const advice = adviceOn(rule);
      return advice === null ? null : `${advice.charAt(0).toLowerCase()}${advice.slice(1)}`;
    }
  }
}

const EXPIRED_APPROVAL = "its approval expired before it was used. Run it again to be asked.";

/** What is refused although `--approve` names its tool has to be answered by a person. */
const ANSWERED_ONLY: Readonly<Record<string, string>> = {
  "policy.latch":
    "Its session has read private and untrusted data, so --approve does not count: answer at a terminal, or start a new session.",
  "effect.in-doubt": "The same call may have taken effect already: check that, then answer at a terminal.",
};

function howToApprove(rule: string, tool: string): string {
  return ANSWERED_ONLY[rule] ?? `Approve it for one run: surety run … --approve ${tool}`;
}

function blockedHosts(hosts: readonly string[], session: string): string {
  const [host] = hosts;
  if (host === undefined)
    return `a host it reaches is blocked. Allow it: surety caps grant net:HOST --session ${session}`;
  // An address is no domain: only the broad capability reaches it.
  const needed = hosts.map((each) => (parseCapability(`net:${each}`) === null ? "net" : `net:${each}`));
  const grants = [...new Set(needed)].map((each) => `surety caps grant ${each} --session ${session}`).join("; ");
  return `${hosts.join(" and ")} ${hosts.length === 1 ? "is" : "are"} blocked. Allow it: ${grants}`;
}

/** The argument that says what a call is about comes first and without its name. */
const TARGETS = ["cmd", "path", "url", "query", "to"] as const;
const MAX_TARGET_CHARS = 200;
const MAX_VALUE_CHARS = 60;
const MAX_LINE_CHARS = 400;

/** Tool and arguments in one line; long values are cut. */
export function callInWords({ tool, argsRef }: Pick<EndedCall["call"], "tool" | "argsRef">, lookup: Lookup): string {
  const args = Object.entries(argsOf(argsRef, lookup));
  const target = TARGETS.find((name) => args.some(([key, value]) => key === name && typeof value === "string"));
  const words = args.filter(([name]) => name !== target).map(([name, value]) => `${name}=${quoted(value)}`);
  const first = target === undefined ? [] : [plain(String(argsOf(argsRef, lookup)[target]))];
  return cut([tool, ...first, ...words].join(" "), MAX_LINE_CHARS);
}

/** A text without line ends reads best as it is. */
function plain(text: string): string {
  return /^[^\p{Cc}"]+$/u.test(text) ? cut(text, MAX_TARGET_CHARS) : cut(JSON.stringify(text), MAX_TARGET_CHARS);
}

function quoted(value: unknown): string {
  return cut(JSON.stringify(value) ?? "", MAX_VALUE_CHARS);
}

function cut(text: string, max: number): string {
  return text.length <= max ? text : `${text.slice(0, max).toWellFormed()}…`;
}
