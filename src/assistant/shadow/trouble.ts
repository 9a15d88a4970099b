/** What the detectors of the shadow loop find, as facts: no words, and never the content of a secret. */

export type FileEvent = "add" | "change" | "unlink";

export type Trouble =
  | {
      readonly kind: "syntax-error";
      readonly event: "add" | "change";
      readonly path: string;
      readonly language: "JSON" | "YAML" | "TypeScript" | "JavaScript" | "Python";
      readonly line: number;
      readonly problem: string;
      /** The whole file without the error, where that follows from the file alone. */
      readonly repaired: string | null;
    }
  | { readonly kind: "test-without-source"; readonly path: string; readonly source: string }
  | {
      readonly kind: "failing-command";
      readonly command: string;
      readonly exitCode: number;
      readonly times: number;
      readonly directory: string;
    }
  /** Plain history: whether it failed is not known. */
  | { readonly kind: "repeated-command"; readonly command: string; readonly times: number }
  | { readonly kind: "merge-conflict"; readonly repository: string; readonly paths: readonly string[] }
  | {
      readonly kind: "secret-in-commit";
      readonly repository: string;
      readonly commit: string;
      readonly path: string;
      readonly line: number;
      readonly found: readonly string[];
      readonly isPushed: boolean;
    }
  | {
      readonly kind: "large-binary";
      readonly repository: string;
      readonly path: string;
      readonly bytes: number;
    };

/** `subject`: what it is about; the same trouble has the same subject, whenever it is found. */
export type Finding =
  | { readonly type: "found"; readonly subject: string; readonly trouble: Trouble }
  /** What was found about it is no longer so. */
  | { readonly type: "settled"; readonly subject: string };

/** What the watchers are told, with paths that were resolved. */
export interface WatchOrders {
  readonly roots: readonly string[];
  /** Never watched, though it may lie in a root. */
  readonly excluded: readonly string[];
  readonly ignore: readonly string[];
  readonly events: readonly FileEvent[];
  readonly git: readonly GitEvent[];
  /** Plain history of the shell; null: not watched. */
  readonly historyFile: string | null;
  /** Where the shell hook reports; null: exit codes are not watched. */
  readonly hookFile: string | null;
  /** Files to look at once, although they have not changed. */
  readonly lookAgain: readonly string[];
}

export type GitEvent = "commit" | "push" | "merge-conflict";
