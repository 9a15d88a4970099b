/**
 * node-llama-cpp: what we use of it, and where it is. It is no dependency: it weighs more than all of Surety, so an operator
 * who wants local models installs it into the home (docs/local-models.md).
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { LocalModelError } from "./local-model-error.ts";

export const PACKAGE_VERSION = "3.22.1";

export type Token = number;
export type GpuType = false | "auto" | "cuda" | "vulkan" | "metal";

export interface LlamaPackage {
  getLlama(options: object): Promise<Llama>;
  resolveChatWrapper(model: LlamaModel): ChatWrapper;
  readonly LlamaGrammar: new (llama: Llama, options: { grammar: string; rootRuleName: string }) => object;
  readonly LlamaGrammarEvaluationState: new (options: { model: LlamaModel; grammar: object }) => object;
  readonly TokenBias: new (tokenizer: Tokenizer) => TokenBias;
}

export type Tokenizer = object;

export interface TokenBias {
  set(token: Token, bias: "never" | { readonly logit: number }): this;
}

export interface Llama {
  readonly gpu: string | false;
  readonly llamaCppRelease: { readonly release: string };
  loadModel(options: object): Promise<LlamaModel>;
}

export interface LlamaModel {
  readonly tokenizer: Tokenizer;
  readonly fileInfo: { readonly metadata: object };
  createContext(options: object): Promise<LlamaContext>;
  createEmbeddingContext(options: object): Promise<EmbeddingContext>;
  detokenize(tokens: readonly Token[], specialTokens: boolean, lastTokens: readonly Token[]): string;
  tokenize(text: string): Token[];
  isEogToken(token: Token): boolean;
  dispose(): Promise<void>;
}

export interface LlamaContext {
  readonly contextSize: number;
  getSequence(): LlamaSequence;
  dispose(): Promise<void>;
}

export interface EmbeddingContext {
  getEmbeddingFor(text: readonly Token[]): Promise<{ readonly vector: readonly number[] }>;
  dispose(): Promise<void>;
}

export interface LlamaSequence {
  readonly nextTokenIndex: number;
  /** Keeps what the sequence has in common with the tokens, from their beginning. */
  adaptStateToTokens(tokens: readonly Token[], allowShift: boolean): Promise<void>;
  evaluateWithoutGeneratingNewTokens(tokens: readonly Token[]): Promise<void>;
  evaluate(tokens: readonly Token[], options: object): AsyncGenerator<Token, void>;
}

export interface ChatWrapper {
  generateContextState(options: { readonly chatHistory: readonly object[] }): {
    readonly contextText: { tokenize(tokenizer: Tokenizer): Token[] };
    readonly stopGenerationTriggers: readonly unknown[];
  };
}

const PLATFORM_PACKAGES: Readonly<Record<string, string>> = {
  "linux-x64": "linux-x64",
  "linux-arm64": "linux-arm64",
  "linux-arm": "linux-armv7l",
  "darwin-arm64": "mac-arm64-metal",
  "darwin-x64": "mac-x64",
  "win32-x64": "win-x64",
  "win32-arm64": "win-arm64",
};

/** The one line that installs it. */
export function installLine(directory: string): string {
  const platform = PLATFORM_PACKAGES[`${process.platform}-${process.arch}`];
  const binary = platform === undefined ? "" : ` @node-llama-cpp/${platform}@${PACKAGE_VERSION}`;
  const options = `--prefix ${JSON.stringify(directory)} --ignore-scripts --omit=optional`;
  return `npm install ${options} node-llama-cpp@${PACKAGE_VERSION}${binary}`;
}

/** Throws a LocalModelError unless the version that we know is there. */
export async function findPackage(directory: string): Promise<string> {
  const root = join(directory, "node_modules", "node-llama-cpp");
  const manifest = await readFile(join(root, "package.json"), "utf8").catch(() => null);
  if (manifest === null) {
    throw new LocalModelError(
      "model.package-missing",
      `Local models need node-llama-cpp, which is not installed. Run: ${installLine(directory)}`,
    );
  }
  const { version } = JSON.parse(manifest) as { readonly version?: unknown };
  if (version === PACKAGE_VERSION) return root;
  throw new LocalModelError(
    "model.package-version",
    `Local models need node-llama-cpp ${PACKAGE_VERSION}, not ${String(version)}. Run: ${installLine(directory)}`,
  );
}

export async function loadPackage(directory: string): Promise<LlamaPackage> {
  const root = await findPackage(directory);
  return (await import(pathToFileURL(join(root, "dist", "index.js")).href)) as LlamaPackage;
}
