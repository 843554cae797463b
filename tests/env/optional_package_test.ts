import { assertEquals, assertInstanceOf, assertThrows } from "@std/assert";
import { OPTIONAL_PACKAGES } from "../../cli/terminal/optional_packages.ts";
import { explainMissing } from "../../env/optional_package.ts";
import { ConfigurationError } from "@trellis/fn/errors";

function missing(message: string, code = "ERR_MODULE_NOT_FOUND"): Error {
  return Object.assign(new Error(message), { code });
}

// as the runtimes write it: Node 20 to 24, Node's require, Bun 1, Deno 2
const MESSAGES = [
  missing("Cannot find package 'libpg-query' imported from /app/handler.js"),
  missing(
    "Cannot find module 'libpg-query'\nRequire stack:\n- /app/handler.js",
    "MODULE_NOT_FOUND",
  ),
  missing("Cannot find package 'libpg-query' from '/app/handler.js'"),
  missing('Cannot find package "libpg-query" imported from /app/handler.js'),
];

Deno.test("explainMissing() names the purpose and the command when the package is missing", () => {
  for (const cause of MESSAGES) {
    const error = assertThrows(
      () => explainMissing(OPTIONAL_PACKAGES, "libpg-query", "startDistSqlServer()")(cause),
      ConfigurationError,
    );
    assertEquals(error.code, "CONFIGURATION");
    assertEquals(
      error.message,
      "startDistSqlServer() needs the package libpg-query, which is not installed. " +
        `Install it: npm install "libpg-query@${OPTIONAL_PACKAGES["libpg-query"]}"`,
    );
    assertEquals(error.cause, cause);
  }
});

Deno.test("explainMissing() throws what it got when another thing failed", () => {
  for (
    const error of [
      missing("Cannot find package 'other' imported from /app/node_modules/libpg-query/index.js"),
      missing(
        "Cannot find module '/app/node_modules/libpg-query/wasm/index.js' imported from /app/x.js",
      ),
      missing("Cannot find package 'libpg-query-extra' imported from /app/x.js"),
      new SyntaxError("Unexpected token"),
    ]
  ) {
    assertEquals(
      assertThrows(() => explainMissing(OPTIONAL_PACKAGES, "libpg-query", "x")(error)),
      error,
    );
  }
  assertInstanceOf(
    assertThrows(() => explainMissing(OPTIONAL_PACKAGES, "libpg-query", "x")(new TypeError("t"))),
    TypeError,
  );
});

Deno.test("OPTIONAL_PACKAGES accepts the versions that are tested", () => {
  const { imports } = JSON.parse(
    Deno.readTextFileSync(new URL("../../deno.json", import.meta.url)),
  );
  for (const [name, range] of Object.entries(OPTIONAL_PACKAGES)) {
    const tested = /[\d.]+$/.exec(imports[name])![0];
    const floor = /[\d.]+/.exec(range)![0];
    assertEquals(tested.startsWith(floor), true, `${name} ${range} was tested with ${tested}`);
  }
});
