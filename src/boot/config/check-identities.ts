/** Is each link one person's? A link that two identities claim would lead to the session of whichever comes first. */
import type { Config } from "./config.ts";
import type { Finding } from "./config-problem.ts";

export function checkIdentities({ identities }: Pick<Config, "identities">): readonly Finding[] {
  const names = new Set<string>();
  const owners = new Map<string, number>();
  return identities.flatMap(({ id, links }, index) => {
    const at = ["identities", String(index)];
    const findings: Finding[] = [];
    if (names.has(id)) findings.push(invalid([...at, "id"], "is given twice", "Join the two, or name one otherwise."));
    names.add(id);
    for (const [place, link] of links.entries()) {
      const owner = owners.get(link);
      if (owner !== undefined) {
        findings.push(
          invalid([...at, "links", String(place)], `is given in identities.${owner} already`, "Keep one of the two."),
        );
      }
      owners.set(link, index);
    }
    return findings;
  });
}

function invalid(path: readonly string[], what: string, hint: string): Finding {
  return { code: "config.invalid", path, what, hint };
}
