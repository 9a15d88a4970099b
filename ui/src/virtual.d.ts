declare module "virtual:operations" {
  /** Method, path and kind by name. */
  export const OPERATIONS: Readonly<
    Record<string, readonly ["GET" | "POST" | "PATCH" | "PUT" | "DELETE", string, "json" | "document" | "stream"]>
  >;
  export const CHAT_COMMANDS: readonly { readonly name: string; readonly usage: string; readonly summary: string }[];
}
