/** GET and POST /api/marks: what the operator sees as untrusted in the workspace, and takes the mark off. */
import { expect, test } from "vitest";
import { AUTHORIZED, errorOf, startGateway } from "./running-gateway.ts";

const PATH = "/api/marks";

test("marks are paths; one comes off in the operator's name", async () => {
  const gateway = await startGateway();
  gateway.assistant.marked = [".", "notes/a.md"];
  const listed = await gateway.ask("GET", PATH, { headers: AUTHORIZED });
  expect([listed.status, JSON.parse(listed.text)]).toEqual([200, { marks: [".", "notes/a.md"] }]);
  const removed = await gateway.ask("POST", PATH, { headers: AUTHORIZED, body: { remove: "." } });
  expect([removed.status, JSON.parse(removed.text)]).toEqual([200, { marks: ["notes/a.md"] }]);
  expect(gateway.assistant.unmarkedBy).toEqual(["operator"]);
});

test.each([
  [{ remove: "none" }, 404, /no such mark/],
  [{}, 400, /remove is required/],
  [{ remove: ["a"] }, 400, /remove must be a string/],
  [{ remove: "a", by: "root" }, 400, /unknown field by/],
])("%j is refused: %i", async (body, status, message) => {
  const gateway = await startGateway();
  gateway.assistant.marked = ["a"];
  const answer = await gateway.ask("POST", PATH, { headers: AUTHORIZED, body });
  expect([answer.status, errorOf(answer).message]).toEqual([status, expect.stringMatching(message)]);
  expect(gateway.assistant.marked).toEqual(["a"]);
});

test("nobody without the token, and nothing but what is asked for", async () => {
  const gateway = await startGateway();
  gateway.assistant.marked = ["a"];
  expect((await gateway.ask("GET", PATH)).status).toBe(401);
  expect((await gateway.ask("POST", PATH, { body: { remove: "a" } })).status).toBe(401);
  expect((await gateway.ask("GET", `${PATH}?path=a`, { headers: AUTHORIZED })).status).toBe(400);
  expect(gateway.assistant.marked).toEqual(["a"]);
});
