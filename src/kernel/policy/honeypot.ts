/**
 * The honeypot exception (P-3.3): may this send go out without an approval? Only if all five conditions hold. Templates
 * and recipient types are compared literally. `perHour` counts this send too, so 0 switches the exception off.
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
