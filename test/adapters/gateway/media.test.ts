/** Images in the body of POST /v1/runs, and the same through the client. */
import { describe, expect, test } from "vitest";
import { createGatewayClient } from "../../../src/adapters/gateway-client/create-gateway-client.ts";
import { toWire } from "../../../src/kernel/vocabulary/wire-case.ts";
import { DOT_PNG, jpeg, mediaOf } from "../../runtime/sample-images.ts";
import { AUTHORIZED, errorOf, startGateway, TOKEN } from "./running-gateway.ts";
import { at } from "./test-identity.ts";

const IMAGE = { type: "image", mime_type: "image/png", data: DOT_PNG.toString("base64") };

async function post(media: unknown) {
  const gateway = await startGateway();
  const body = { agent_id: "main", message: "look", media };
  const answered = await gateway.ask("POST", "/v1/runs", { headers: AUTHORIZED, body });
  return { answered, requests: gateway.assistant.requests };
}

describe("media in the body of a request", () => {
  test("reach the assistant as they came", async () => {
    const { answered, requests } = await post([IMAGE, { ...IMAGE, mime_type: "image/webp" }]);
    expect(answered.status).toBe(202);
    expect(requests[0]?.media).toEqual([
      { type: "image", mimeType: "image/png", data: IMAGE.data },
      { type: "image", mimeType: "image/webp", data: IMAGE.data },
    ]);
  });

  test("that are null or an empty list are none", async () => {
    for (const none of [null, []]) {
      const { answered, requests } = await post(none);
      expect([answered.status, "media" in (requests[0] ?? {})]).toEqual([202, false]);
    }
  });

  test.each<[string, unknown, string]>([
    ["no list", IMAGE, "media must be a list"],
    ["no object", ["x"], "media[0] must be a JSON object"],
    ["another field", [{ ...IMAGE, url: "https://example.org" }], "unknown field url in media[0]"],
    ["another kind", [IMAGE, { ...IMAGE, type: "audio" }], "media[1].type must be one of image"],
    ["another type", [{ ...IMAGE, mime_type: "image/svg+xml" }], "media[0].mime_type must be one of image/png"],
    ["no data", [{ ...IMAGE, data: undefined }], "media[0].data is required"],
    ["data that is no text", [{ ...IMAGE, data: [1, 2] }], "media[0].data must be a string"],
  ])("are refused where there is %s", async (_, media, message) => {
    const { answered, requests } = await post(media);
    expect([answered.status, errorOf(answered).code]).toEqual([400, "invalid.request"]);
    expect(errorOf(answered).message).toContain(message);
    expect(requests).toEqual([]);
  });

  test("go through the client unchanged", async () => {
    const gateway = await startGateway();
    const client = createGatewayClient({ ...at(gateway.url), token: TOKEN });
    const media = [mediaOf(DOT_PNG), mediaOf(jpeg(3, 4))];
    const input = { agent_id: "main", message: "look", media: toWire(media) };
    expect(await client.call("runs.create", input)).toMatchObject({ ok: true });
    expect(gateway.assistant.requests[0]?.media).toEqual(media);
  });
});
