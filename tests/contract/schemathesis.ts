import { assertEquals } from "@std/assert";
import { hasPython, installPython } from "../emulator/emulator.ts";
import { runProgram } from "../../scripts/program.ts";
import { withTempFolder } from "../support/temp_folder.ts";
import { testSeed } from "../support/seed.ts";
import { EXAMPLES, FORMS, getDocument, withExample } from "./examples.ts";

const PACKAGE = "schemathesis==4.32.5";
/**
 * What an answer must have: no 5xx, and the status, the headers and the body of the document. Whether a request is refused
 * is not checked: a schema cannot say all that a handler refuses, and better-auth accepts more than its schemas.
 */
const CHECKS = [
  "not_a_server_error",
  "status_code_conformance",
  "content_type_conformance",
  "response_headers_conformance",
  "response_schema_conformance",
  "missing_required_header",
  "unsupported_method",
  "allow_header_conformance",
  "ignored_auth",
];
const isFull = Deno.env.get("TRELLIS_FULL_TESTS") === "1";
const ignore = !await hasPython();

for (
  const [name, form] of EXAMPLES.flatMap((name) => FORMS.map((form) => [name, form] as const))
) {
  Deno.test({
    name: `schemathesis finds no answer of ${name} (${form}) outside of its document`,
    ignore,
    fn: () =>
      withExample(name, async (url, token) => {
        const python = await installPython(PACKAGE);
        const args = [
          ...["-m", "schemathesis.cli", "run", await getDocument(name), "--url", url],
          ...token === "" ? [] : ["--header", `Authorization: Bearer ${token}`],
          ...["--checks", CHECKS.join(), "--phases", "examples,coverage,fuzzing"],
          ...["--max-examples", isFull ? "300" : "10", "--seed", String(testSeed)],
          ...["--continue-on-failure", "--output-truncate", "true"],
        ];
        // sign-out and the deletion of the user are among the requests: the rest is then refused
        const auth = ["--include-path-regex", "^/auth/"];
        const parts = [["--exclude-path-regex", "^/auth/"], ...token === "" ? [] : [auth]];
        for (const part of parts) {
          // it writes a folder where it runs
          const { code, stdout, stderr } = await withTempFolder(
            {},
            (cwd) => runProgram(python, [...args, ...part], { cwd }),
          );
          assertEquals(
            code,
            0,
            stdout.slice(stdout.indexOf("= FAILURES =")).slice(0, 20_000) + stderr,
          );
        }
      }, form),
  });
}
