// Configuration of vitest, beside the copied tests.
import { readFileSync } from "node:fs";
import process from "node:process";
import { fileURLToPath } from "node:url";

const aliases: { find: string; replacement: string }[] = JSON.parse(
  readFileSync(new URL("aliases.json", import.meta.url), "utf8"),
);

/** Changes to better-auth's test instance, so that it starts ours in place of one with SQLite. */
const REPLACED: readonly (readonly [string, string])[] = [
  ['const { DatabaseSync } = await import("node:sqlite");', ""],
  ['new DatabaseSync(":memory:")', "{ isSuite: true, close() {} }"],
  ["const auth = betterAuth({", "const auth = await openInstance({"],
  ['if (testWith !== "mongodb") {', 'if (testWith !== "mongodb" && auth.close === undefined) {'],
  [
    "cleanupSet.add(cleanup);",
    "cleanupSet.add(async () => { await cleanup(); await auth.close?.(); });",
  ],
];

function useOwnInstance() {
  const own = fileURLToPath(new URL("instance.ts", import.meta.url));
  return {
    name: "trellis-instance",
    enforce: "pre",
    transform(code: string, id: string): string | undefined {
      if (!id.endsWith("/test-utils/test-instance.ts")) return undefined;
      let changed = `import { openInstance } from ${JSON.stringify(own)};\n${code}`;
      for (const [from, to] of REPLACED) {
        if (!changed.includes(from)) throw new Error(`better-auth's test instance has no ${from}`);
        changed = changed.replace(from, () => to);
      }
      return changed;
    },
  };
}

export default {
  plugins: [useOwnInstance()],
  resolve: {
    alias: aliases.map(({ find, replacement }) => ({
      find: new RegExp(`^${find}$`),
      replacement,
    })),
  },
  test: {
    include: ["packages/better-auth/src/**/*.test.ts"],
    exclude: ["**/node_modules/**", "**/src/adapters/**"],
    server: { deps: { inline: [/@better-auth\/[a-z]+-adapter/] } },
    testTimeout: 60_000,
    hookTimeout: 60_000,
    pool: "forks",
    maxWorkers: Number(process.env.SUITE_WORKERS ?? 2),
    execArgv: ["--expose-gc"],
    // the drivers of databases need timers, which in-memory SQLite does not
    fakeTimers: { toFake: ["Date"] },
  },
};
