/** What a browser sees at `/`. It is open to everyone the gateway admits, so it holds nothing of this home. */
import type { Reply } from "./reply.ts";

const PAGE = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Surety</title>
<style>
  :root { color-scheme: light dark }
  body { max-width: 40rem; margin: 10vh auto; padding: 0 1rem; font: 1rem/1.6 system-ui, sans-serif }
</style>
<h1>Surety is running</h1>
<p>There is no web interface yet. Talk to it from a terminal:</p>
<pre>surety run "list files"
surety --help</pre>
<p>Or over HTTP, with the token from the file <code>token</code> in Surety's home (usually <code>~/.surety</code>):</p>
<pre>curl ORIGIN/v1/runs -H "Authorization: Bearer TOKEN" \\
  -d '{"agent_id": "main", "message": "list files"}'</pre>
<p><code>/openapi.json</code> describes every operation. <a href="/healthz">/healthz</a> says whether runs are accepted.</p>
</html>
`;

/** `host` was admitted: it is a name of this gateway. */
export function welcomePage(host: string): Reply {
  const body = PAGE.replace("ORIGIN", `http://${host}`);
  const headers = [
    ...["content-type", "text/html; charset=utf-8", "content-length", String(Buffer.byteLength(body))],
    ...["content-security-policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"],
  ];
  return { status: 200, headers, body };
}
