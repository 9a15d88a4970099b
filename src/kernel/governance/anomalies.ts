/**
 * "Anomaly ignored" (M-P4b), by a fixed rule.
 *
 * A1. An anomaly is a performed call whose result failed, unless a later call of the same tool succeeded, or whose result
 *     was truncated.
 * A2. The answer mentions it if it names the tool or the error's code, or uses a word for it: of failing for a failed
 *     result, of being cut for a truncated one. The words are English, German, French and Spanish.
 * A3. Where the answer is mostly in another script the rule does not decide, and nothing counts as ignored. Nor does it in a
 *     run without an answer.
 */
export interface CallResult {
  readonly tool: string;
  readonly ok: boolean;
  readonly truncated: boolean;
  readonly code: string | null;
}

export interface Anomaly {
  readonly tool: string;
  readonly kind: "failed" | "truncated";
  readonly code: string | null;
}

/** `results`: of the performed calls, in the order in which they ended. */
export function anomaliesIn(results: readonly CallResult[]): readonly Anomaly[] {
  return results.flatMap(({ tool, ok, truncated, code }, index): readonly Anomaly[] => {
    if (!ok) {
      const isMadeGood = results.slice(index + 1).some((later) => later.tool === tool && later.ok);
      return isMadeGood ? [] : [{ tool, kind: "failed", code }];
    }
    return truncated ? [{ tool, kind: "truncated", code: null }] : [];
  });
}

const WORDS: Readonly<Record<Anomaly["kind"], RegExp>> = {
  failed:
    /\b(?:fail|error|could ?n.t|could not|can ?not|can.t|unable|did ?n.t|did not|was ?n.t|was not|were not|not found|no such|does ?n.t exist|does not exist|missing|denied|refused|time(?:d)? ?out|unavailable|unreachable|invalid|problem|unknown)|\b(?:fehl|nicht|konnte|kein|verweigert|unbekannt)|\b(?:erreur|échou|impossible|introuvable|n.a pas|n.existe pas|refus)|\b(?:no se |no pud|no exist|no ha|fall[óoa]|denegad)/iu,
  truncated:
    /\b(?:truncat|cut off|cut short|shortened|partial|incomplete|only the first|first part|the rest|too (?:long|large)|abridged)|\b(?:gekürzt|abgeschnitten|unvollständig|teilweise)|\b(?:tronqu|incompl|partiel)|\b(?:truncad|recortad|parcial)/iu,
};

export function countIgnored(anomalies: readonly Anomaly[], answer: string | null): number {
  if (answer === null || !isReadable(answer)) return 0;
  const text = answer.toLowerCase();
  return anomalies.filter(({ tool, kind, code }) => !WORDS[kind].test(answer) && !names(text, tool, code)).length;
}

function names(text: string, tool: string, code: string | null): boolean {
  return text.includes(tool.toLowerCase()) || (code !== null && text.includes(code.toLowerCase()));
}

/** At least half of its letters are Latin, and there are some. */
function isReadable(answer: string): boolean {
  const letters = answer.match(/\p{Letter}/gu)?.length ?? 0;
  const latin = answer.match(/\p{Script=Latin}/gu)?.length ?? 0;
  return letters > 0 && 2 * latin >= letters;
}
