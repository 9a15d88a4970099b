/**
 * The layers of scripts/layers.ts as dependency-cruiser's rules: a second pair of eyes beside the layering test, and
 * the one that draws pictures (`npx depcruise --config dependency-cruiser.config.ts -T mermaid src`).
 *
 * TypeScript 7 has no JavaScript API for it to parse with, so it reads through swc; without swc it would find no file
 * and call that success, hence the import.
 */
import "@swc/core";
import { Visitor } from "@swc/core/Visitor.js";
import type { IConfiguration, IForbiddenRuleType } from "dependency-cruiser";
import { ADAPTERS_FOLDER, BUNDLED_PACKAGES, KERNEL_FOLDER, KERNEL_PACKAGES, LAYERS, UI } from "./scripts/layers.ts";

// swc's own visitor throws on `using`. A dynamic import in such a declaration is found by the layering test.
const { visitStatement } = Visitor.prototype;
Visitor.prototype.visitStatement = function (statement) {
  const type: string = statement.type;
  return type === "UsingDeclaration" ? statement : visitStatement.call(this, statement);
};

const escapeDots = (path: string): string => path.replaceAll(".", "\\.");
const anyOf = (folders: readonly string[]): string => `^(${folders.map(escapeDots).join("|")})/`;
const packagePath = (name: string): string =>
  name.startsWith("node:") ? `^(node:)?${name.slice("node:".length)}$` : `node_modules/${escapeDots(name)}/`;

const layerRules = [...LAYERS].map(
  ([layer, mayImport]): IForbiddenRuleType => ({
    name: `${layer.replace("src/", "").replaceAll("/", "-")}-imports-inward`,
    severity: "error",
    from: { path: `^${layer}/` },
    to: { path: "^src/", pathNot: anyOf([layer, ...mayImport]) },
  }),
);

const confinedPackageRules = [...KERNEL_PACKAGES].flatMap(([name, onlyFile]): readonly IForbiddenRuleType[] =>
  onlyFile === null
    ? []
    : [
        {
          name: `kernel-${name.replace("@", "").replaceAll(/\W+/gu, "-")}-in-one-file`,
          severity: "error",
          from: { path: `^${KERNEL_FOLDER}/`, pathNot: `^${escapeDots(onlyFile)}$` },
          to: { path: packagePath(name) },
        },
      ],
);

const configuration: IConfiguration = {
  forbidden: [
    ...layerRules,
    ...confinedPackageRules,
    {
      name: "kernel-packages",
      severity: "error",
      from: { path: `^${KERNEL_FOLDER}/` },
      to: {
        pathNot: [`^${KERNEL_FOLDER}/`, ...[...KERNEL_PACKAGES.keys()].map(packagePath)],
        dependencyTypesNot: ["local"],
      },
    },
    {
      name: "adapters-are-strangers",
      severity: "error",
      from: { path: `^(${ADAPTERS_FOLDER}/[^/]+)` },
      to: { path: `^${ADAPTERS_FOLDER}/`, pathNot: "^$1(/|$)" },
    },
    {
      name: "source-stays-inside",
      severity: "error",
      from: { path: "^src/" },
      to: { path: "^(test|scripts|bench|ui)/" },
    },
    {
      name: "ui-imports-kernel-and-operation-types",
      severity: "error",
      from: { path: `^${UI.folder}/src/` },
      to: { path: "^(src|test|scripts|bench)/", pathNot: UI.imports.map((path) => `^${escapeDots(path)}`) },
    },
    { name: "no-cycles", severity: "error", from: {}, to: { circular: true } },
    { name: "no-unresolved", severity: "error", from: {}, to: { couldNotResolve: true, pathNot: "^virtual:" } },
    {
      name: "no-undeclared-packages",
      severity: "error",
      from: {},
      to: { dependencyTypes: ["npm-no-pkg", "npm-unknown"] },
    },
    {
      name: "source-uses-bundled-packages",
      severity: "error",
      from: { path: "^src/" },
      to: { dependencyTypes: ["npm-dev"], pathNot: BUNDLED_PACKAGES.map(packagePath) },
    },
  ],
  options: {
    // swc reads the source as it is written, type imports included; tsPreCompilationDeps would only ask for tsc.
    parser: "swc",
    doNotFollow: { path: "node_modules" },
    enhancedResolveOptions: { exportsFields: ["exports"], conditionNames: ["node", "import", "default"] },
  },
};

export default configuration;
