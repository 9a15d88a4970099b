import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { htmlToText } from "../../../../src/adapters/tools/http/html-to-text.ts";

const read = (html: string, maxBytes = 1_000_000) => htmlToText(html, "https://site.test/dir/page", maxBytes);

test("a page reads as a person would read it", () => {
  const page = `<!doctype html><html><head><title> A &amp;
    page </title><style>p { color: red }</style><script>alert("no")</script></head><body>
    <nav><a href="/home">Home</a></nav>
    <h1>Main   title</h1>
    <p>First <b>bold</b>, then caf&eacute;&nbsp;au lait.<br>Second line.</p>
    <div>One div</div><div>Another</div>
    <ul><li>apple</li><li>pear<ol><li>green</li><li>red</li></ol></li></ul>
    <table><tr><th>Name</th><th>Size</th></tr><tr><td>a</td><td>1</td></tr></table>
    <pre>  kept
    as it is</pre>
    <p>See <a href="../other?x=1#y">the other page</a> or <a href="#top">the top</a>.</p>
    <footer>Imprint</footer></body></html>`;
  expect(read(page)).toEqual({
    title: "A & page",
    isCut: false,
    text: [
      ...["# Main title", "", "First bold, then café au lait.", "Second line.", "", "One div", "Another"],
      ...["- apple", "- pear", "  1. green", "  2. red", "", "Name | Size", "a | 1", "", "  kept", "    as it is", ""],
      "See the other page (https://site.test/other?x=1#y) or the top.",
    ].join("\n"),
  });
});

describe("invisible content is dropped", () => {
  test.each([
    "<script>SECRET</script>",
    "<style>SECRET</style>",
    "<noscript>SECRET</noscript>",
    "<template><p>SECRET</p></template>",
    "<!-- SECRET -->",
    "<p hidden>SECRET</p>",
    "<div style='color: red; DISPLAY : none'><p>SECRET</div>",
    "<div style='visibility:hidden'>SECRET</div>",
    "<span aria-hidden=true>SECRET</span>",
    "<svg><title>SECRET</title><text>SECRET</text></svg>",
    "<nav>SECRET</nav><footer><div>SECRET</div></footer>",
    "<textarea>SECRET</textarea><select><option>SECRET</select><button>SECRET</button>",
    "<a hidden href='https://SECRET.test/'>SECRET</a>",
    "<img alt='' src='https://SECRET.test/x.png'>",
  ])("%s", (html) => {
    const { text, title } = read(`before ${html} after`);
    expect(`${title}${text}`).not.toMatch(/SECRET/i);
    expect(text.replace(/\s+/g, " ")).toBe("before after");
  });
});

describe("links", () => {
  test.each([
    ["<a href='https://a.test/'>A</a>", "A (https://a.test/)"],
    ["<a href='https://a.test/'>https://a.test/</a>", "https://a.test/"],
    ["<a href='mailto:x@a.test'>write</a>", "write (mailto:x@a.test)"],
    ["<a href='javascript:alert(1)'>run</a>", "run"],
    ["<a href='data:text/html,x'>data</a>", "data"],
    ["<a href='https://a.test/'><img src=x></a>text", "text"],
    ["<a href='https://a.test/'><h2>Big</h2></a><p>text", "## Big (https://a.test/)\n\ntext"],
    ["<a href='http://['>broken</a>", "broken"],
    [`<a href='/${"x".repeat(600)}'>long</a>`, "long"],
  ])("%.50s", (html, text) => {
    expect(read(html).text).toBe(text);
  });
});

describe("bounds", () => {
  test("text ends at its budget, between two characters", () => {
    expect(read("<p>ééééé", 5)).toMatchObject({ text: "éé", isCut: true });
    expect(read("<p>éé", 4)).toMatchObject({ text: "éé", isCut: false });
  });

  test.each([
    ["elements within one another", "<b>".repeat(500_000)],
    ["closing tags of nothing", `${"<b>".repeat(250)}${"</i>".repeat(400_000)}`],
    ["lists without an end", `${"<ul>".repeat(200)}${"<li>".repeat(400_000)}`],
    ["links that grow", "<a href=x>y</a>".repeat(100_000)],
    ["an unfinished comment", `<!--${"-".repeat(2_000_000)}`],
    ["an unfinished tag", `<a ${"b='".repeat(600_000)}`],
    ["attributes", `<a ${Array.from({ length: 150_000 }, (_, index) => `a${index}=b`).join(" ")}>`],
    ["entities", "&amp;&#x41;&nothing".repeat(100_000)],
    ["blanks", " \n".repeat(1_000_000)],
    ["styles", `<p style='${"display ".repeat(250_000)}'>`],
  ])("a page of %s keeps to the byte budget", (_, html) => {
    const { text } = read(html, 100_000);
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(100_000);
  });

  test.each([
    ["tags", "<br>".repeat(500_000)],
    ["elements", "<b></b>".repeat(250_000)],
    ["invisible elements", `<nav>${"<i></i>".repeat(250_000)}</nav>`],
    ["closing tags of nothing", `${"<b>".repeat(250)}${"</i>".repeat(250_000)}${"</b>".repeat(250)}`],
    ["links", "<a href=//host.test/x></a>".repeat(70_000)],
    ["attributes", `<a ${Array.from({ length: 150_000 }, (_, index) => `a${index}`).join(" ")}></a>`],
    ["comments", "<!---->".repeat(250_000)],
    ["invisible entities", `<nav>${"&amp;".repeat(400_000)}</nav>`],
    ["blanks", " ".repeat(1_500_000)],
  ])("a page of too many %s is cut, and says so", (_, html) => {
    expect(read(`<p>Hello</p>${html}<p>the end`)).toEqual({ title: null, text: "Hello", isCut: true });
  });

  test("a long page is read whole, wherever it is taken apart", () => {
    const lines = Array.from({ length: 5000 }, (_, index) => `Line ${index} of 😀😀 words`);
    const html = lines.map((line) => `<p class="a">${line}</p>`).join("");
    expect(read(html)).toEqual({ title: null, text: lines.join("\n\n"), isCut: false });
    expect(read(`<pre>${"😀".repeat(50_000)}`).text).toBe("😀".repeat(50_000));
  });

  test("a page that is nested too deeply is cut", () => {
    expect(read(`<p>Hello${"<i>".repeat(1000)}far inside`)).toEqual({ title: null, text: "Hello", isCut: true });
  });
});

test("whatever the page, the text has no blank ends, no gaps, and keeps to its budget", () => {
  const piece = fc.oneof(
    fc.constantFrom(
      ...["<p>", "</p>", "<li>", "<ul>", "</ul>", "<ol>", "<br>", "<td>", "<tr>", "<h2>", "</h2>", "<a href=x>"],
    ),
    fc.constantFrom(
      ...["</a>", "<div hidden>", "</div>", "<title>", "</title>", "&nbsp;", "\n", "  ", "<script>", "</script>"],
    ),
    fc.string({ maxLength: 5, unit: "grapheme" }),
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 30 }), fc.nat(60), (pieces, maxBytes) => {
      const { text } = read(pieces.join(""), maxBytes);
      expect(Buffer.byteLength(text)).toBeLessThanOrEqual(maxBytes);
      expect(text).toBe(text.trimEnd());
      expect(text).not.toMatch(/\n{3}/);
      expect(text.isWellFormed()).toBe(true);
    }),
    { numRuns: 1000 },
  );
});
