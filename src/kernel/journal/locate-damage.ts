/**
 * Maps an unreadable place in a bundle's text to the entry it belongs to (U6 of bundle.ts). Up to the place everything
 * was well-formed, so brackets and strings before it locate it. The answer is at least 1, and never beyond the entries
 * that the text shows.
 */
interface Place {
  /** The key of the bundle under which the place lies; null before the first. */
  readonly section: string | null;
  /** The key within the section, where that is an object. */
  readonly member: string | null;
  /** How many elements of `entries` had begun. */
  readonly begun: number;
  /** Between two entries, or before the first: the next should begin here. */
  readonly isBetween: boolean;
}

export function entryAt(text: string, at: number): number {
  const { section, member, begun, isBetween } = placeOf(text.slice(0, at));
  if (section === "bodies" && member !== null) return entryNaming(member, text, at);
  const followsOne = section === "entries" && isBetween && text.includes('"prev"', at);
  return Math.max(1, begun + (followsOne ? 1 : 0));
}

const STRING = /"(?:[^"\\]|\\.)*(?:"|$)/sy;

function placeOf(prefix: string): Place {
  let [depth, begun] = [0, 0];
  let section: string | null = null;
  let member: string | null = null;
  let last = "";
  for (let at = 0; at < prefix.length; at += 1) {
    const character = prefix.charAt(at);
    if (/\s/.test(character)) continue;
    const mayBeKey = last === "{" || last === ",";
    last = character;
    if (character === '"') {
      STRING.lastIndex = at;
      const string = STRING.exec(prefix)?.[0] ?? character;
      if (depth === 1 && mayBeKey) [section, member] = [string.slice(1, -1), null];
      if (depth === 2 && mayBeKey) member = string.slice(1, -1);
      at += string.length - 1;
    } else if (character === "{" || character === "[") {
      if (depth === 2 && section === "entries") begun += 1;
      depth += 1;
    } else if (character === "}" || character === "]") {
      depth -= 1;
    }
  }
  return { section, member, begun, isBetween: depth === 2 && (last === "," || last === "[") };
}

/** The entries follow the damaged body, and one of them names its ref. */
function entryNaming(ref: string, text: string, at: number): number {
  const entries = text.slice(at).search(/"entries"\s*:\s*\[/) + at;
  const named = text.indexOf(`"${ref}"`, Math.max(entries, at));
  if (entries < at || named < 0) return 1;
  return Math.max(1, placeOf(`{${text.slice(entries, named)}`).begun);
}
