import { assertEquals, assertFalse } from "@std/assert";
import { type Answer, audit, readDenoAudit, readNpmAudit } from "../../scripts/audit.ts";

const gave = (code: number, stdout: string, stderr = "") => ({ code, stdout, stderr });
const REFUSED =
  "error: error sending request for url (https://registry.example/advisories): invalid peer certificate";

Deno.test("readDenoAudit() distinguishes findings, a clean response and none", () => {
  assertEquals(readDenoAudit(gave(0, "No known vulnerabilities found\n")), { kind: "clean" });
  const report = "╭ parser has a hole\n╰ Info: …\n\nFound 1 vulnerabilities\nSeverity: 1 high";
  assertEquals(readDenoAudit(gave(1, report)), { kind: "found", report });
  // exit code 0 with an unknown message does not mean that there are no findings
  for (
    const [code, stdout, stderr] of [[1, "", REFUSED], [0, "", ""], [
      0,
      "Found 0 things",
      "",
    ]] as const
  ) {
    assertEquals(readDenoAudit(gave(code, stdout, stderr)).kind, "unasked");
  }
});

Deno.test("readNpmAudit() distinguishes findings, a clean response and none", () => {
  const totals = (total: unknown) =>
    gave(0, JSON.stringify({ metadata: { vulnerabilities: { total } } }));
  assertEquals(readNpmAudit(totals(0)), { kind: "clean" });
  assertEquals(readNpmAudit(totals(2)).kind, "found");
  for (
    const stdout of [
      "",
      "null",
      "{}",
      '{"message":"400 Bad Request","error":{"summary":""}}',
      "<html>",
    ]
  ) {
    assertEquals(
      readNpmAudit(gave(1, stdout, "npm error audit endpoint returned an error")).kind,
      "unasked",
      stdout,
    );
  }
});

Deno.test("an answer that did not come names no address", () => {
  const answer = readDenoAudit(gave(1, "", REFUSED));
  assertFalse(JSON.stringify(answer).includes("registry.example"));
});

const say = (answer: Answer) => () => Promise.resolve(answer);

Deno.test("audit() fails on a finding, and takes the second program where the first gets no answer", async () => {
  const unasked: Answer = { kind: "unasked", reason: "refused" };
  const found: Answer = { kind: "found", report: "a hole" };
  assertEquals(await audit([["a", say(unasked)], ["b", say(found)]]), {
    exitCode: 1,
    lines: ["a hole", "b: there are known vulnerabilities, see above"],
  });
  assertEquals(await audit([["a", say({ kind: "clean" })], ["b", say(found)]]), {
    exitCode: 0,
    lines: ["a: no known vulnerabilities"],
  });
});

Deno.test("audit() reports that no registry responded, and does not fail", async () => {
  const { exitCode, lines } = await audit([["a", say({ kind: "unasked", reason: "refused" })], [
    "b",
    say({ kind: "unasked", reason: "no network" }),
  ]]);
  assertEquals(exitCode, 0);
  assertEquals(lines, [
    "NOT AUDITED: the registry's advisories could not be asked (a: refused; b: no network)",
  ]);
});
