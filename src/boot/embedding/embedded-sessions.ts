/** The sessions of a home, in the seeds' shape (T-2.2). */
import type { OperationClient, ResultOf } from "../../assistant/operations.ts";
import { asSessionId } from "../../kernel/vocabulary/identifiers.ts";
import type { FindModel } from "../../runtime/model/model-registry.ts";
import type * as Api from "./surety-api.ts";

const MAX_TURNS = 500;

type Shown = Extract<ResultOf<"sessions.get">, { readonly ok: true }>["value"];

export class EmbeddedSessions implements Api.Sessions {
  readonly #operations: OperationClient;
  readonly #findModel: FindModel;

  constructor(operations: OperationClient, findModel: FindModel) {
    this.#operations = operations;
    this.#findModel = findModel;
  }

  async get(id: string): Promise<Api.Session | null> {
    const shown = await this.#operations.call("sessions.get", { id: asSessionId(id), limit: MAX_TURNS });
    if (!shown.ok) return null;
    const model = this.#findModel(shown.value.metadata.model);
    if (model.ok) await model.model.tokens.prepare?.();
    return toSession(shown.value);
  }

  async create({ agentId, channel = "cli", title }: Parameters<Api.Sessions["create"]>[0] = {}): Promise<Api.Session> {
    const created = await this.#operations.call("sessions.create", {
      channel,
      ...(agentId === undefined ? {} : { agent_id: agentId }),
      ...(title === undefined ? {} : { title }),
    });
    const session = created.ok ? await this.get(created.value.id) : null;
    if (session === null) throw new Error(created.ok ? "the new session is gone" : created.message);
    return session;
  }
}

function toSession({
  id,
  agentId,
  senderId,
  channel,
  state,
  messages,
  metadata,
  config,
  checkpoint,
}: Shown): Api.Session {
  return {
    ...{ id, agentId, senderId, channel, state, metadata, config, checkpoint },
    messages: messages.map(({ toolResults, ...message }) => ({
      ...message,
      ...(toolResults === undefined
        ? {}
        : { toolResults: toolResults.map(({ success, output }) => ({ success, output })) }),
    })),
  };
}
