/** The tools of the conformance corpus as a model sees them. They touch nothing outside the run. */
import { type TObject, Type } from "typebox";

const closed = { additionalProperties: false } as const;
const NO_ARGUMENTS = Type.Object({}, closed);

function offer<Parameters extends TObject>(tool: string, description: string, parameters: Parameters) {
  return { name: `conformance.${tool}`, description, parameters } as const;
}

export const ECHO = offer("echo", "Give the text back as it is.", Type.Object({ text: Type.String() }, closed));
export const PING = offer("ping", "Answer pong. It takes no arguments.", NO_ARGUMENTS);
export const FLOOD = offer("flood", "Answer with far more text than is wanted. It takes no arguments.", NO_ARGUMENTS);
export const WAIT = offer("wait", "Wait for something that never comes. It takes no arguments.", NO_ARGUMENTS);
export const STALL = offer("stall", "Wait longer than the run may take. It takes no arguments.", NO_ARGUMENTS);
/** Offered on the wire, registered nowhere. */
export const ABSENT = offer("absent", "Look up a word.", Type.Object({ word: Type.String() }, closed));
