/**
 * Branded identifiers: strings that the type checker keeps apart. A brand is given where the string enters, never in
 * the middle of a function.
 */
declare const brand: unique symbol;
export type Branded<Name extends string> = string & { readonly [brand]: Name };

export type RunId = Branded<"RunId">;
export type SessionId = Branded<"SessionId">;
export type CallId = Branded<"CallId">;
export type ApprovalId = Branded<"ApprovalId">;
export type MemoryId = Branded<"MemoryId">;
/** SHA-256 as 64 lower-case hex digits. */
export type Hash = Branded<"Hash">;
/** Where content lives: SHA-256 over a salt and the bytes. Entries hold refs, bodies hold content. */
export type BodyRef = Branded<"BodyRef">;

export const asRunId = (value: string): RunId => value as RunId;
export const asSessionId = (value: string): SessionId => value as SessionId;
export const asCallId = (value: string): CallId => value as CallId;
export const asApprovalId = (value: string): ApprovalId => value as ApprovalId;
export const asMemoryId = (value: string): MemoryId => value as MemoryId;
export const asHash = (value: string): Hash => value as Hash;
export const asBodyRef = (value: string): BodyRef => value as BodyRef;
