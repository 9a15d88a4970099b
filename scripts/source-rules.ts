/**
 * The rules of the repository that a reviewer should not have to look for. Each takes one file and returns what is
 * wrong with it, in words; none touches the disk, so that the rules themselves can be tested with offending snippets.
 */
import { isBuiltin } from "node:module";
import { posix } from "node:path";
import manifest from "../package.json" with { type: "json" };
import { adapterOf, KERNEL_FOLDER, KERNEL_PACKAGES, LAYERS, layerOf, UI } from "./layers.ts";
import { COMPUTED_IMPORT } from "./source-facts.ts";

export type ImportGraph = ReadonlyMap<string, readonly string[]>;

const MAX_SOURCE_LINES = 400;

// Written with classes such as [-] so that this file does not contain what it refuses.
const DISABLE_COMMENTS: readonly RegExp[] = [
  /biome[-]ignore/iu,
  /(?:eslint|oxlint|tslint)[-:](?:disable|enable)/iu,
  /prettier[-]ignore/iu,
  /@ts[-](?:ignore|expect-error|nocheck)/iu,
  /(?:v8|c8|istanbul|node:coverage)\s+(?:ignore|disable)/iu,
  /stryker\s+(?:disable|restore)/iu,
  /(?:depcruise|dependency-cruiser)[-]ignore/iu,
  // knip keeps quiet about exports with these tags.
  /(?:\*|\/\/)\s*@(?:public|internal|beta|alias|lintignore|knipignore)\b/iu,
];

const FORBIDDEN_NAMES = /^(?:utils?|helpers?|common|shared|misc|types|managers?|services?)$/u;

/** Words that mark the old style; docs/glossary.md has the words we use. In backticks, `nobody` is the Unix user. */
const OLD_STYLE = /\b(?:whoever|(?<!`)nobody|somebody|anybody|anew|is told|(?<!\bto )be it)\b/iu;
/** Refusals that `src/kernel/machine/validate-calls.ts` records: journals hash them, so they keep their old words. */
const RECORDED_SENTENCES = ["denied: nobody answered in time", "denied: nobody can be asked on this channel"];
/** Private metaphors, alone or as a part of a name. */
const METAPHORS = new Set(["purse", "purses", "desk", "desks", "shelf", "shelves", "passage", "passages"]);

/** The files of this repository that an import leads to; none for npm packages, Node's modules and JSON. */
export function resolveImport(file: string, specifier: string): readonly string[] {
  if (specifier.startsWith("#")) {
    const targets: Readonly<Record<string, Readonly<Record<string, string>>>> = manifest.imports;
    return Object.values(targets[specifier] ?? {}).map((target) => posix.normalize(target));
  }
  if (!specifier.startsWith(".") || /\.(?:json|css|svg)$/.test(specifier)) return [];
  // Vite's `?worker&url` and the like say what is done with the file.
  return [posix.join(posix.dirname(file), specifier.replace(/\?.*$/, ""))];
}

export function checkImports(file: string, specifiers: readonly string[]): readonly string[] {
  return specifiers.flatMap((specifier) => {
    const problem = problemWithImport(file, specifier);
    return problem === undefined ? [] : [`${file} imports ${specifier}: ${problem}`];
  });
}

/** They load a package that is no dependency: an operator installs it into the home. */
const INSTALLED_BY_OPERATOR: readonly string[] = ["src/adapters/models/llama-cpp/llama-package.ts"];

function problemWithImport(file: string, specifier: string): string | undefined {
  if (file.startsWith("test/kernel/") && isBuiltin(specifier)) return "kernel tests also run where there is no Node";
  if (file.startsWith(`${UI.folder}/src/`)) return problemInUi(file, specifier);
  if (!file.startsWith("src/")) return undefined;
  if (specifier === COMPUTED_IMPORT) {
    return INSTALLED_BY_OPERATOR.includes(file) ? undefined : "an import must name its module";
  }
  if (!specifier.startsWith(".") && !specifier.startsWith("#")) return problemWithPackage(file, specifier);
  const targets = resolveImport(file, specifier);
  if (targets.length === 0 && specifier.startsWith("#")) return "package.json has no such subpath import";
  return targets.map((target) => problemWithTarget(file, target)).find((problem) => problem !== undefined);
}

/** That only types come from the table of operations follows from the size of the built pages (test/ui/size.test.ts). */
function problemInUi(file: string, specifier: string): string | undefined {
  const outside = resolveImport(file, specifier).find((target) => !target.startsWith(`${UI.folder}/src/`));
  if (outside === undefined || UI.imports.some((allowed) => outside.startsWith(allowed))) return undefined;
  return "the control UI imports itself, the kernel, and types of the table of operations";
}

function problemWithPackage(file: string, specifier: string): string | undefined {
  if (!file.startsWith(`${KERNEL_FOLDER}/`)) return undefined;
  for (const [name, onlyFile] of KERNEL_PACKAGES) {
    if (specifier !== name && !specifier.startsWith(`${name}/`)) continue;
    return onlyFile === null || onlyFile === file ? undefined : `only ${onlyFile} may`;
  }
  return "the kernel may not";
}

function problemWithTarget(file: string, target: string): string | undefined {
  const from = layerOf(file);
  const to = layerOf(target);
  if (from === undefined) return "the importing file is in no layer (scripts/layers.ts)";
  if (to === undefined) return "the imported file is in no layer (scripts/layers.ts)";
  if (adapterOf(file) !== adapterOf(target) && from === to) return "adapters never import one another";
  if (from !== to && !LAYERS.get(from)?.includes(to)) return `${from} may not import ${to}`;
  return undefined;
}

export function checkPurity(file: string, impurities: readonly string[]): readonly string[] {
  if (!file.startsWith(`${KERNEL_FOLDER}/`)) return [];
  return impurities.map((impurity) => `${file} is not pure: ${impurity}`);
}

export function checkDisableComments(file: string, text: string): readonly string[] {
  return text.split("\n").flatMap((line, index) => {
    const isDisabling = DISABLE_COMMENTS.some((pattern) => pattern.test(line));
    return isDisabling ? [`${file}:${index + 1} switches a check off: ${line.trim()}`] : [];
  });
}

export function checkName(file: string): readonly string[] {
  const words = file.split(/[/.-]/u);
  return words.filter((word) => FORBIDDEN_NAMES.test(word)).map((word) => `${file}: "${word}" says nothing`);
}

export function checkWords(file: string, text: string): readonly string[] {
  if (!file.startsWith("src/")) return [];
  const checked = RECORDED_SENTENCES.reduce((rest, sentence) => rest.replaceAll(`"${sentence}"`, '""'), text);
  return checked.split("\n").flatMap((line, index) => {
    const words = line.match(/[A-Z]?[a-z]+|[A-Z]+(?![a-z])/gu) ?? [];
    const found = OLD_STYLE.exec(line)?.[0] ?? words.find((word) => METAPHORS.has(word.toLowerCase()));
    return found === undefined ? [] : [`${file}:${index + 1} says "${found}": ${line.trim()}`];
  });
}

export function checkLayer(file: string): readonly string[] {
  return !file.startsWith("src/") || layerOf(file) !== undefined ? [] : [`${file} is in no layer (scripts/layers.ts)`];
}

export function checkLength(file: string, text: string): readonly string[] {
  const lines = text.trimEnd().split("\n").length;
  return file.startsWith("src/") && lines > MAX_SOURCE_LINES ? [`${file} has ${lines} lines`] : [];
}

/** The first import cycle, as the path that leads back to its beginning. */
export function findCycle(graph: ImportGraph): readonly string[] | undefined {
  const finished = new Set<string>();
  const visit = (file: string, path: readonly string[]): readonly string[] | undefined => {
    if (path.includes(file)) return [...path.slice(path.indexOf(file)), file];
    if (finished.has(file)) return undefined;
    for (const target of graph.get(file) ?? []) {
      const cycle = visit(target, [...path, file]);
      if (cycle !== undefined) return cycle;
    }
    finished.add(file);
    return undefined;
  };
  for (const file of graph.keys()) {
    const cycle = visit(file, []);
    if (cycle !== undefined) return cycle;
  }
  return undefined;
}
