/**
 * The honeypot exception (P-3.3): may this send go out without an approval?
 *
 * H1. All five conditions hold, or it may not: allowlisted template, allowlisted recipient type, no links,
 *     no attachments, rate limit. There are no wildcards: templates and recipient types are compared literally.
 * H2. `perHour` counts this send too, so 0 switches the exception off. A count that is not a number meets nothing.
 */
import type { ToolPolicy } from "./tool-policy.ts";

export interface HoneypotFacts {
  readonly templateId: string;
  readonly recipientType: string;
  readonly links: number;
  readonly attachments: number;
  /** Honeypot sends of the last hour, without this one. */
  readonly sentLastHour: number;
}

export function isHoneypotSend(policy: ToolPolicy, facts: HoneypotFacts): boolean {
  const { templates, recipientTypes, perHour } = policy.honeypot;
  return (
    templates.includes(facts.templateId) &&
    recipientTypes.includes(facts.recipientType) &&
    facts.links === 0 &&
    facts.attachments === 0 &&
    facts.sentLastHour < perHour
  );
}
