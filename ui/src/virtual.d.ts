declare module "virtual:operations" {
  /** Method, path, kind and, where the body is one field of the input, that field; by name. */
  export const OPERATIONS: Readonly<
    Record<
      string,
      readonly ["GET" | "POST" | "PATCH" | "PUT" | "DELETE", string, "json" | "document" | "stream", string?]
    >
  >;
  export const CHAT_COMMANDS: readonly { readonly name: string; readonly usage: string; readonly summary: string }[];
}
