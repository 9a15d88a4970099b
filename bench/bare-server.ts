/** The least that can answer over HTTP, as plain JavaScript for `node`: what a gateway is measured against. */
export const BARE_SERVER = `
import { createServer } from "node:http";
const body = process.argv[2] ?? '{"ok":true}';
const server = createServer((request, response) => {
  response.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(body) });
  response.end(body);
});
server.listen(0, "127.0.0.1", () => console.log("bare listening on http://127.0.0.1:" + server.address().port));
`;
