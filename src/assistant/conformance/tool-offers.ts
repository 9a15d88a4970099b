/** The tools of the conformance corpus as a model sees them. They touch nothing outside the run. */
import { Type } from "typebox";

const closed = { additionalProperties: false } as const;

export const ECHO = {
  name: "conformance.echo",
  description: "Give the text back as it is.",
  parameters: Type.Object({ text: Type.String() }, closed),
} as const;

export const PING = {
  name: "conformance.ping",
  description: "Answer pong. It takes no arguments.",
  parameters: Type.Object({}, closed),
} as const;

export const FLOOD = {
  name: "conformance.flood",
  description: "Answer with far more text than is wanted. It takes no arguments.",
  parameters: Type.Object({}, closed),
} as const;

export const WAIT = {
  name: "conformance.wait",
  description: "Wait for something that never comes. It takes no arguments.",
  parameters: Type.Object({}, closed),
} as const;

export const STALL = {
  name: "conformance.stall",
  description: "Wait longer than the run may take. It takes no arguments.",
  parameters: Type.Object({}, closed),
} as const;

/** Offered on the wire, registered nowhere. */
export const ABSENT = {
  name: "conformance.absent",
  description: "Look up a word.",
  parameters: Type.Object({ word: Type.String() }, closed),
} as const;
