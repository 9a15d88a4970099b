/** Why a local model cannot be used, in one line that says what to do. */
export type LocalModelCode =
  | "model.package-missing"
  | "model.package-version"
  | "model.file-missing"
  | "model.file-invalid"
  | "model.too-large"
  | "model.load-failed";

export class LocalModelError extends Error {
  override readonly name = "LocalModelError";
  readonly code: LocalModelCode;

  constructor(code: LocalModelCode, message: string) {
    super(message);
    this.code = code;
  }
}
