/** Operations on marks: what an untrusted context wrote in the workspace, and the operator's decision to trust it. */
import { type Static, Type } from "typebox";
import { hashCanonical } from "../../kernel/vocabulary/hash.ts";
import { closed } from "../../kernel/vocabulary/schema-primitives.ts";
import { Nothing, Text } from "../operations/input-schemas.ts";
import { operationsOver, type Result, refuse } from "../operations/operation.ts";
import { type Clock, timestampOf } from "../ports/clock.ts";
import type { Marks } from "../ports/marks.ts";
import type { Store } from "../ports/store.ts";

export interface MarkServices {
  readonly marks: Marks;
  readonly store: Pick<Store, "commit">;
  readonly clock: Pick<Clock, "nowMs">;
}

const MarksSchema = Type.Object({ marks: Type.Array(Type.String()) });

const { json } = operationsOver<MarkServices>();

export const markOperations = [
  json({
    name: "marks.list",
    method: "GET",
    path: "/api/marks",
    scope: "operate",
    summary: "lists what an untrusted context wrote in the workspace; `.` is the whole of it",
    hasEtag: true,
    input: Nothing,
    output: MarksSchema,
    call: shown,
  }),
  json({
    name: "marks.remove",
    method: "POST",
    path: "/api/marks",
    scope: "operate",
    summary: "removes one mark (`{remove: PATH}`): the file counts as the user's own from then on",
    input: Type.Object({ remove: Text }, closed),
    output: MarksSchema,
    async call(services, { remove: path }, { principal: actor }) {
      const { marks, store, clock } = services;
      if (!(await marks.list()).includes(path)) return refuse("not_found", "no such mark");
      const ts = timestampOf(clock.nowMs());
      const draft = { kind: "mark.removed", ts, actor, data: { pathHash: hashCanonical(path) } } as const;
      // The ledger first: an operator's act is on record before it takes effect.
      await store.commit([{ type: "append-ledger", draft }], "barrier");
      await marks.remove(path);
      return shown(services);
    },
  }),
] as const;

async function shown({ marks }: Pick<MarkServices, "marks">): Promise<Result<Static<typeof MarksSchema>>> {
  return { ok: true, value: { marks: [...(await marks.list())] } };
}
