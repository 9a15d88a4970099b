/**
 * Sentences of a grammar in GBNF, at random. It reads the part of the format that we write, and knows nothing of schemas:
 * what it makes is what a decoder that is held to the grammar may write.
 */
type Node =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "class"; readonly ranges: readonly (readonly [from: number, to: number])[] }
  | { readonly kind: "rule"; readonly name: string }
  | { readonly kind: "sequence"; readonly parts: readonly Node[] }
  | { readonly kind: "choice"; readonly options: readonly Node[] }
  | { readonly kind: "repeat"; readonly of: Node; readonly least: number; readonly most: number };

/** Of repetitions without a bound. */
const MOST = 12;

export function gbnfSampler(grammar: string, random: () => number): (entry: string) => string {
  const rules = new Map(
    grammar
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => {
        const [name = "", expression = ""] = line.split(/ ::= (.*)/s);
        return [name, parse(expression)] as const;
      }),
  );
  const pick = (count: number): number => Math.floor(random() * count);
  const write = (node: Node): string => {
    switch (node.kind) {
      case "text":
        return node.text;
      case "class": {
        const [from, to] = node.ranges[pick(node.ranges.length)] as readonly [number, number];
        return String.fromCodePoint(from + pick(to - from + 1));
      }
      case "rule": {
        const rule = rules.get(node.name);
        if (rule === undefined) throw new Error(`no rule ${node.name}`);
        return write(rule);
      }
      case "sequence":
        return node.parts.map(write).join("");
      case "choice":
        return write(node.options[pick(node.options.length)] as Node);
      case "repeat": {
        const count = node.least + pick(Math.min(node.most, node.least + MOST) - node.least + 1);
        return Array.from({ length: count }, () => write(node.of)).join("");
      }
    }
  };
  return (entry) => write({ kind: "rule", name: entry });
}

function parse(expression: string): Node {
  const [node, rest] = readChoice(expression);
  if (rest !== "") throw new Error(`left over: ${rest}`);
  return node;
}

type Reading = readonly [node: Node, rest: string];

function readChoice(text: string): Reading {
  const options: Node[] = [];
  let rest = text;
  for (;;) {
    const [option, after] = readSequence(rest);
    options.push(option);
    rest = after.trimStart();
    if (!rest.startsWith("|")) break;
    rest = rest.slice(1);
  }
  return [options.length === 1 ? (options[0] as Node) : { kind: "choice", options }, rest];
}

function readSequence(text: string): Reading {
  const parts: Node[] = [];
  let rest = text.trimStart();
  while (rest !== "" && !rest.startsWith("|") && !rest.startsWith(")")) {
    const [item, after] = readItem(rest);
    const [node, left] = readRepetition(item, after);
    parts.push(node);
    rest = left.trimStart();
  }
  return [{ kind: "sequence", parts }, rest];
}

function readItem(text: string): Reading {
  if (text.startsWith("(")) {
    const [node, rest] = readChoice(text.slice(1));
    if (!rest.startsWith(")")) throw new Error(`unclosed: ${text}`);
    return [node, rest.slice(1)];
  }
  const literal = /^"((?:[^"\\]|\\.)*)"/.exec(text);
  if (literal !== null) {
    return [{ kind: "text", text: unescaped(literal[1] ?? "").join("") }, text.slice(literal[0].length)];
  }
  const characters = /^\[((?:[^\]\\]|\\.)*)\]/.exec(text);
  if (characters !== null) {
    return [{ kind: "class", ranges: rangesOf(characters[1] ?? "") }, text.slice(characters[0].length)];
  }
  const name = /^[a-z0-9-]+/.exec(text)?.[0];
  if (name === undefined) throw new Error(`unreadable: ${text}`);
  return [{ kind: "rule", name }, text.slice(name.length)];
}

function readRepetition(of: Node, text: string): Reading {
  const mark = /^(?:([*+?])|\{(\d+)(,(\d+)?)?\})/.exec(text);
  if (mark === null) return [of, text];
  const [all, symbol, least, comma, most] = mark;
  const rest = text.slice(all.length);
  const unbounded = Number.POSITIVE_INFINITY;
  if (symbol !== undefined) {
    return [{ kind: "repeat", of, least: symbol === "+" ? 1 : 0, most: symbol === "?" ? 1 : unbounded }, rest];
  }
  const count = Number(least);
  const bound = comma === undefined ? count : most === undefined ? unbounded : Number(most);
  return [{ kind: "repeat", of, least: count, most: bound }, rest];
}

/** Its characters; an escaped one can be no dash of a range. */
function unescaped(text: string): readonly string[] {
  const parts = text.match(/\\u[0-9A-F]{4}|\\U[0-9A-F]{8}|\\.|[^\\]/gsu) ?? [];
  return parts.map((part) => {
    if (/^\\[uU]/.test(part)) return String.fromCodePoint(Number.parseInt(part.slice(2), 16));
    return part.startsWith("\\") ? part.slice(1) : part;
  });
}

function rangesOf(text: string): readonly (readonly [number, number])[] {
  const letters = unescaped(text);
  const ranges: (readonly [number, number])[] = [];
  for (let at = 0; at < letters.length; at += 1) {
    const from = letters[at]?.codePointAt(0) ?? 0;
    if (letters[at + 1] === "-" && at + 2 < letters.length) {
      ranges.push([from, letters[at + 2]?.codePointAt(0) ?? 0]);
      at += 2;
    } else ranges.push([from, from]);
  }
  return ranges;
}
