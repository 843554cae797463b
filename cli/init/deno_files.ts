import { VERSIONS } from "./versions.ts";

/**
 * npm packages that the project imports. The optional parts of this package are its own
 * dependencies.
 */
const FROM_NPM = ["drizzle-orm", "zod"] as const;
/** Entry points that the project may import. */
const ENTRIES = [
  "",
  "/auth",
  "/auth/jwt",
  "/auth/schema",
  "/cli",
  "/client",
  "/core",
  "/database",
  "/database/migrate",
  "/database/orm",
  "/database/types",
  "/env",
  "/errors",
  "/idempotency",
  "/jobs",
  "/mail",
  "/observability",
  "/realtime",
  "/router",
  "/streaming",
  "/testing",
  "/triggers",
  "/triggers/events",
  "/uploads",
  "/validation",
  "/workflows",
] as const;

/** Returns the files of a Deno project: contents by path. */
export function denoFiles(): Record<string, string> {
  const trellis = "deno run -A @trellis/fn/cli";
  const config = {
    tasks: {
      dev: `${trellis} dev`,
      test: "deno test -A tests",
      check: "deno check src tests trellis.config.ts",
      generate:
        `${trellis} generate permissions && ${trellis} generate infra && ${trellis} generate openapi`,
      build: `${trellis} build`,
      trellis,
      ci: `deno task check && deno task test && ${trellis} check all && ${trellis} build --check`,
    },
    imports: {
      ...Object.fromEntries(
        ENTRIES.map((
          entry,
        ) => [`@trellis/fn${entry}`, `jsr:@trellis/fn@${VERSIONS["@trellis/fn"]}${entry}`]),
      ),
      ...Object.fromEntries(FROM_NPM.map((each) => [each, `npm:${each}@${VERSIONS[each]}`])),
      "drizzle-orm/pg-core": `npm:drizzle-orm@${VERSIONS["drizzle-orm"]}/pg-core`,
    },
    compilerOptions: { strict: true },
    fmt: { lineWidth: 120 },
    exclude: ["dist/", "dist.maps/", ".trellis/"],
  };
  return {
    "deno.json": `${JSON.stringify(config, null, 2)}\n`,
  };
}
