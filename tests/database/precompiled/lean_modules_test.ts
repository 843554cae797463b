import { assert, assertEquals } from "@std/assert";
import {
  DRIZZLE_FILE,
  LEAN_MODULES,
  LEAN_PACKAGED_MODULES,
  LEAN_RUNTIME,
} from "../../../cli/build/precompile_queries/lean_modules.ts";

const ROOT = new URL("../../../", import.meta.url);

/** A static import or export of values from a module. */
const IMPORT = /^(?:import|export)\s+(?!type\b)(?:([^"';]*?)\s+from\s+)?"([^"]+)"/gm;

/** Checks for `{ type A, type B }`, which a bundler omits. */
function isTypesOnly(names: string | undefined): boolean {
  const list = /^\{([^}]*)\}$/.exec(names?.trim() ?? "")?.[1];
  return list !== undefined &&
    list.split(",").every((name) => name.trim() === "" || name.trim().startsWith("type "));
}

/** Lists the modules that a module loads, and the packages with the module that imports them. */
function readGraph(
  entries: readonly string[],
  replaced: Readonly<Record<string, string>>,
): { modules: Set<string>; packages: string[] } {
  const modules = new Set(entries);
  const packages: string[] = [];
  for (const path of modules) {
    const text = Deno.readTextFileSync(new URL(`${path}.ts`, ROOT));
    for (const [, names, specifier] of text.matchAll(IMPORT)) {
      if (isTypesOnly(names)) continue;
      if (!specifier.startsWith(".")) {
        packages.push(`${path} imports ${specifier}`);
        continue;
      }
      const { href } = new URL(specifier, new URL(`${path}.ts`, ROOT));
      const target = href.slice(ROOT.href.length).replace(/\.ts$/, "");
      modules.add(replaced[target] ?? target);
    }
  }
  return { modules, packages };
}

/** The modules of a function with everything that needs no drizzle. */
const FUNCTION = [
  "auth/api_key_auth",
  "auth/instance",
  "auth/session_access",
  "auth/session_auth",
  "auth/sessions",
  "database/client",
  "database/execute",
  "database/queries/query_factory",
  "database/queries/query_metrics",
  "database/rate_limits/configure",
  "database/retry",
  "database/send_ahead",
  "database/table_permission",
  "database/transaction",
  "idempotency/lease_store",
  "idempotency/remove_expired",
  "idempotency/transaction_store",
  "jobs/define_job",
  "jobs/job_admin",
  "jobs/job_queue_handler",
  "jobs/job_relay_handler",
  "jobs/job_stream_handler",
  "realtime/connection_store",
  "validation/define_api_handler",
  ...["branching_pg", "distsql", "embedded_pg", "postgres", "serverless_pg", "data_api"]
    .map((name) => `database/providers/${name}`),
];

Deno.test("the modules of a bundle without drizzle import only types of drizzle", () => {
  const entries = [...FUNCTION, ...Object.values(LEAN_RUNTIME), ...Object.values(LEAN_MODULES)];
  const { modules, packages } = readGraph(entries, LEAN_MODULES);
  assertEquals(packages.filter((use) => use.includes("drizzle-orm")), []);
  assert(modules.has("database/session/session"));
  // the same modules with those of ordinary functions: the check finds imports
  const usual = readGraph(FUNCTION, {});
  assert(usual.packages.includes("database/session/dialect imports drizzle-orm/pg-core"));
  assertEquals(Object.keys(LEAN_MODULES).filter((path) => !usual.modules.has(path)), []);
});

Deno.test("the second file contains no module with state", () => {
  const { modules } = readGraph([DRIZZLE_FILE.file], {});
  const stateful = [...modules].filter((path) =>
    /^(?:core|observability)\//.test(path) ||
    /\/(?:client|lease|load_drizzle|session|slots|transaction_\w+|transaction_state)$/.test(path)
  );
  assertEquals(stateful, []);
});

Deno.test("packages contain the modules of a bundle without drizzle", () => {
  const packaged = LEAN_PACKAGED_MODULES.map((load) =>
    /import\("(?:\.\.\/)+(.*)\.ts"\)/.exec(String(load))![1]
  );
  const needed = [
    DRIZZLE_FILE.file,
    ...Object.values(DRIZZLE_FILE.statements),
    ...Object.values(LEAN_MODULES),
    ...Object.values(LEAN_RUNTIME),
  ];
  const { modules } = readGraph(packaged, {});
  assertEquals(needed.filter((path) => !modules.has(path)), []);
});
