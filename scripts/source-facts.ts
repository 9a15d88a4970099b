/**
 * What one source file imports and which impure things it touches, read from its syntax tree.
 *
 * F1. Every way to name a module counts: import, export … from, type imports, import("…") in values and in types.
 * F2. Only references count, never property names, strings or comments: `call.process` is not `process`.
 */
import { parseSync } from "@swc/core";

export type SourceFacts = {
  readonly imports: readonly string[];
  readonly impurities: readonly string[];
};

/** Stands for `import(expression)`: a dependency nobody can check. */
export const COMPUTED_IMPORT = "<computed>";

type Node = { readonly type?: string; readonly [field: string]: unknown };

// Time, randomness, environment, scheduling, locale: everything that makes two runs of one journal differ.
const IMPURE_GLOBALS = new Set(
  "Buffer Date Intl Promise clearInterval clearTimeout console crypto eval fetch global globalThis navigator performance process queueMicrotask require setImmediate setInterval setTimeout".split(
    " ",
  ),
);
const IMPURE_MEMBERS = /^(localeCompare|toLocale[A-Z]\w*)$/u;
const SIGNATURES = new Set(["TsPropertySignature", "TsMethodSignature", "TsGetterSignature", "TsSetterSignature"]);

/** `isJsx`: as in a file that ends in `.tsx`. */
export function readSourceFacts(text: string, isJsx = false): SourceFacts {
  const imports = new Set<string>();
  const impurities = new Set<string>();
  const module = parseSync(text, { syntax: "typescript", target: "es2024", tsx: isJsx });

  for (const statement of module.body) {
    const declaration = statement.type === "ExportDeclaration" ? statement.declaration : statement;
    if (declaration.type === "VariableDeclaration" && declaration.kind !== "const")
      impurities.add("module state (let)");
  }
  walk(module, (node) => {
    const source = moduleNamedBy(node);
    if (source !== undefined) imports.add(source);
    const impurity = impurityOf(node);
    if (impurity !== undefined) impurities.add(impurity);
  });
  return { imports: [...imports], impurities: [...impurities] };
}

function moduleNamedBy(node: Node): string | undefined {
  switch (node.type) {
    case "ImportDeclaration":
    case "ExportAllDeclaration":
    case "ExportNamedDeclaration":
      return textOf(node["source"]);
    case "TsImportType":
      return textOf(node["argument"]);
    case "TsExternalModuleReference":
      return textOf(node["expression"]);
    case "CallExpression": {
      const callee = node["callee"];
      if (!isNode(callee) || (callee.type !== "Import" && callee["value"] !== "require")) return undefined;
      const [first] = node["arguments"] as readonly { readonly expression: unknown }[];
      return textOf(first?.expression) ?? COMPUTED_IMPORT;
    }
    default:
      return undefined;
  }
}

function impurityOf(node: Node): string | undefined {
  if (node["async"] === true) return "async";
  switch (node.type) {
    case "AwaitExpression":
      return "await";
    case "ForOfStatement":
      return node["await"] === true ? "await" : undefined;
    case "MetaProperty":
      return node["kind"] === "import.meta" ? "import.meta" : undefined;
    case "MemberExpression": {
      const property = nameOf(node["property"]);
      if (property === "random" && nameOf(node["object"]) === "Math") return "Math.random";
      return property !== undefined && IMPURE_MEMBERS.test(property) ? property : undefined;
    }
    case "Identifier":
      // swc gives a hygiene context to references and bindings only, not to plain property names.
      return "ctxt" in node && IMPURE_GLOBALS.has(String(node["value"])) ? String(node["value"]) : undefined;
    default:
      return undefined;
  }
}

/** Visits every object of the tree: some of swc's (arguments, method bodies) carry no type of their own. */
function walk(value: unknown, visit: (node: Node) => void): void {
  if (Array.isArray(value)) {
    for (const element of value) walk(element, visit);
  } else if (isNode(value)) {
    visit(value);
    for (const [field, child] of Object.entries(value)) {
      const isPropertyName = field === "key" && SIGNATURES.has(value.type ?? "") && value["computed"] === false;
      if (!isPropertyName) walk(child, visit);
    }
  }
}

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null;
}

function textOf(value: unknown): string | undefined {
  return isNode(value) && value.type === "StringLiteral" ? String(value["value"]) : undefined;
}

/** The name behind `a.name` and `a["name"]`. */
function nameOf(value: unknown): string | undefined {
  if (!isNode(value)) return undefined;
  if (value.type === "Computed") return textOf(value["expression"]);
  return value.type === "Identifier" ? String(value["value"]) : undefined;
}
