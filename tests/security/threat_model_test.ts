import { assert, assertEquals } from "@std/assert";

const ROOT = new URL("../../", import.meta.url);
const page = Deno.readTextFileSync(new URL("docs/security.md", ROOT));
const links = [...page.matchAll(/\]\(([^)#]+)\)/g)].map(([, target]) =>
  new URL(target, new URL("docs/", ROOT))
);

Deno.test("every line of the threat model links an existing test", () => {
  const [threats] = page.split("\n## Rights of functions");
  const lines = threats.split("\n").filter((line) =>
    line.startsWith("| ") && !/^\| (?:---|Threat|Attack)/.test(line)
  );
  assert(lines.length > 20);
  assertEquals(
    lines.filter((line) =>
      !/\]\(\.\.\/tests\/(?:[\w/]+_test|emulator\/\w+)\.ts\)[^|]* \|$/.test(line)
    ),
    [],
  );
  for (const link of links) assert(Deno.statSync(link).isFile, link.pathname);
});

Deno.test("every test file of this folder is in the threat model", () => {
  const named = new Set(links.map(({ pathname }) => pathname));
  const folder = new URL("tests/security/", ROOT);
  const left = [...Deno.readDirSync(folder)].filter(({ name }) =>
    name.endsWith("_test.ts") && name !== "threat_model_test.ts"
  )
    .filter(({ name }) => !named.has(new URL(name, folder).pathname));
  assertEquals(left.map(({ name }) => name), []);
});
