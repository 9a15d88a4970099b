/** Code in parts with the class names of highlight.js, ten languages. Loaded with the first code block. */
import bash from "highlight.js/lib/languages/bash";
import css from "highlight.js/lib/languages/css";
import diff from "highlight.js/lib/languages/diff";
import javascript from "highlight.js/lib/languages/javascript";
import json from "highlight.js/lib/languages/json";
import python from "highlight.js/lib/languages/python";
import sql from "highlight.js/lib/languages/sql";
import typescript from "highlight.js/lib/languages/typescript";
import xml from "highlight.js/lib/languages/xml";
import yaml from "highlight.js/lib/languages/yaml";
import { createLowlight } from "lowlight";

export type Highlighted = string | { readonly className: string; readonly children: readonly Highlighted[] };

const lowlight = createLowlight({ bash, css, diff, javascript, json, python, sql, typescript, xml, yaml });

/** Null: not one of the languages. */
export function highlight(language: string, text: string): readonly Highlighted[] | null {
  if (!lowlight.registered(language)) return null;
  return lowlight.highlight(language, text).children.flatMap(partOf);
}

type Node = ReturnType<typeof lowlight.highlight>["children"][number];

function partOf(node: Node): readonly Highlighted[] {
  if (node.type === "text") return [node.value];
  if (node.type !== "element") return [];
  const names = node.properties["className"];
  const className = Array.isArray(names) ? names.filter((name) => typeof name === "string").join(" ") : "";
  return [{ className, children: node.children.flatMap(partOf) }];
}
