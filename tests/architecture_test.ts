import { assertEquals } from "@std/assert";
import { dirname, join, relative } from "node:path/posix";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

/**
 * Who may import whom: each folder, and the folders to its left. A folder that contains others has
 * the rule of the longest path.
 */
const LAYERS: Record<string, readonly string[]> = {
  errors: [],
  env: ["errors"],
  observability: ["errors", "env"],
  core: ["errors", "env", "observability"],
  validation: ["errors", "env", "observability", "core"],
  sql: ["errors", "core"],
  distsql: ["errors", "core", "sql"],
  "distsql/server": ["errors", "env", "sql", "distsql", "database", "testing"],
  database: ["errors", "env", "observability", "core", "sql", "distsql"],
  jobs: ["errors", "env", "observability", "core", "sql", "database"],
  workflows: ["errors", "env", "observability", "core", "sql", "database", "jobs"],
  idempotency: ["errors", "env", "observability", "core", "sql", "database"],
  mail: ["errors", "env", "observability", "core", "sql", "database", "jobs"],
  uploads: ["errors", "env", "observability", "core"],
  realtime: ["errors", "env", "observability", "core", "sql", "database"],
  router: ["errors", "env", "observability", "core", "validation"],
  streaming: ["errors", "env", "observability", "core"],
  triggers: ["core"],
  auth: [
    "errors",
    "env",
    "observability",
    "core",
    "validation",
    "database",
    "jobs",
    "mail",
  ],
  client: ["errors"],
  // finding functions by their files: the command line and the client of tests do it
  "cli/discovery": ["errors", "router"],
  testing: [
    "errors",
    "env",
    "observability",
    "core",
    "validation",
    "database",
    "jobs",
    "workflows",
    "mail",
    "realtime",
    "router",
    "auth",
    "client",
    "cli/discovery",
  ],
  cli: [
    "cli/discovery",
    "errors",
    "env",
    "observability",
    "core",
    "validation",
    "sql",
    "distsql",
    "distsql/server",
    "database",
    "jobs",
    "workflows",
    "idempotency",
    "mail",
    "uploads",
    "realtime",
    "router",
    "auth",
    "client",
    "testing",
  ],
};

/** Where each npm package may be named; types count. */
const HOMES: Record<string, readonly string[]> = {
  "zod": ["validation", "env", "triggers"],
  "drizzle-orm": ["database", "jobs", "workflows", "auth", "testing"],
  "postgres": ["database"],
  "@neondatabase/serverless": ["database"],
  "@aws-sdk/client-apigatewaymanagementapi": ["realtime"],
  "@aws-sdk/client-cloudwatch": ["cli"],
  "@aws-sdk/client-dynamodb": ["idempotency"],
  "@aws-sdk/client-lambda": ["cli"],
  "@aws-sdk/client-rds-data": ["database"],
  "@aws-sdk/client-secrets-manager": ["env", "cli"],
  "@aws-sdk/client-ssm": ["env", "cli"],
  "@aws-sdk/client-s3": ["uploads"],
  "@aws-sdk/client-sqs": ["jobs", "cli"],
  "@aws-sdk/client-sesv2": ["mail"],
  "@aws-sdk/s3-presigned-post": ["uploads"],
  "@aws-sdk/s3-request-presigner": ["uploads"],
  "nodemailer": ["mail"],
  "@aws-sdk/dsql-signer": ["database"],
  "@aws-sdk/rds-signer": ["database"],
  "croner": ["jobs"],
  "fflate": ["cli"],
  "hono": ["router"],
  "@electric-sql/pglite": ["database", "distsql", "testing"],
  "acorn": ["cli"],
  "better-auth": ["auth"],
  "jose": ["auth"],
  "libpg-query": ["distsql"],
  "openapi-fetch": ["client"],
  "yaml": ["cli"],
};

/** Loaded with import() when they are needed: a static import of more than types would make every function pay. */
const LAZY = [
  "postgres",
  "@neondatabase/serverless",
  "@aws-sdk/client-apigatewaymanagementapi",
  "@aws-sdk/client-dynamodb",
  "@aws-sdk/client-rds-data",
  "@aws-sdk/client-secrets-manager",
  "@aws-sdk/client-ssm",
  "@aws-sdk/client-s3",
  "@aws-sdk/client-sqs",
  "@aws-sdk/client-sesv2",
  "@aws-sdk/s3-presigned-post",
  "@aws-sdk/s3-request-presigner",
  "nodemailer",
  "@aws-sdk/dsql-signer",
  "@aws-sdk/rds-signer",
  "croner",
  "@electric-sql/pglite",
  "better-auth",
  "jose",
  "libpg-query",
  "yaml",
];

/** The driver of direct connections serves two providers; functions read secrets, the command line puts them. */
const MAY_LOAD: Record<string, number> = {
  "@aws-sdk/client-sqs": 2,
  postgres: 2,
  "@aws-sdk/client-secrets-manager": 2,
  "@aws-sdk/client-ssm": 2,
};

/** Files that load drizzle: the client that an application asks for, and what it imports as drizzle's. */
const LOAD_DRIZZLE = [
  "auth/tables/columns.ts",
  "auth/tables/schema.ts",
  "database/orm.ts",
  "database/providers/data_api_dialect.ts",
  "database/rate_limits/table.ts",
  "database/session/client.ts",
  "database/session/dialect.ts",
  "database/session/drizzle_classes.ts",
  "database/session/drizzle_codecs.ts",
  "database/session/drizzle_version.ts",
  "database/session/exact_columns.ts",
  "database/session/placeholders.ts",
  "jobs/jobs_table.ts",
  "workflows/workflows_table.ts",
];

/** It hands the public API to modules that it loads. */
const MAY_IMPORT_ENTRY_POINTS = ["cli/openapi/package_loader.ts"];

interface Import {
  from: string;
  specifier: string;
  kind: "static" | "type" | "dynamic";
}

const STATEMENT = /^\s*(?:import|export)\s+(type\s+)?(?:[\w*{}\s,$]+?\s+from\s+)?"([^"]+)"/gm;
const DYNAMIC = /\bimport\(\s*"([^"]+)"/g;

function getImports(file: string): Import[] {
  const source = Deno.readTextFileSync(join(ROOT, file))
    .replace(/\/\*[\s\S]*?\*\//g, "")
    .replace(/^\s*\/\/.*$/gm, "");
  return [
    ...Array.from(source.matchAll(STATEMENT), ([, type, specifier]) => ({
      from: file,
      specifier,
      kind: type ? "type" as const : "static" as const,
    })),
    ...Array.from(
      source.matchAll(DYNAMIC),
      ([, specifier]) => ({ from: file, specifier, kind: "dynamic" as const }),
    ),
  ];
}

function getSources(folder: string): string[] {
  const files: string[] = [];
  for (const entry of Deno.readDirSync(join(ROOT, folder))) {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory) files.push(...getSources(path));
    else if (entry.name.endsWith(".ts")) files.push(path);
  }
  return files;
}

const folders = Object.keys(LAYERS).filter((room) => !room.includes("/")).filter((folder) => {
  try {
    return Deno.statSync(join(ROOT, folder)).isDirectory;
  } catch {
    return false;
  }
});
const files = folders.flatMap(getSources);
const imports = files.flatMap(getImports);
const getFolder = (file: string): string => file.split("/")[0];
/** Folders with a rule, the longest path first. */
const ROOMS = Object.keys(LAYERS).sort((a, b) => b.length - a.length);
const getRoom = (file: string): string =>
  ROOMS.find((room) => file.startsWith(`${room}/`)) ?? getFolder(file);
const getTarget = ({ from, specifier }: Import): string | undefined =>
  specifier.startsWith(".") ? join(dirname(from), specifier) : undefined;
const getPackage = (specifier: string): string =>
  specifier.replace(/^npm:/, "").split("/").slice(
    0,
    specifier.includes("@") && /^(?:npm:)?@/.test(specifier) ? 2 : 1,
  )
    .join("/").replace(/(?<=.)@[^/]*$/, "");
const entryPoints = new Set(
  Object.values<string>(JSON.parse(Deno.readTextFileSync(join(ROOT, "deno.json"))).exports).map((
    path,
  ) => path.slice(2)),
);

Deno.test("architecture: the sources are found and their imports are read", () => {
  assertEquals(files.includes("errors/mod.ts"), true);
  assertEquals(
    imports.some((i) => i.from === "core/retry.ts" && i.specifier === "./request_context.ts"),
    true,
  );
});

Deno.test("architecture: a folder imports only from folders to its left", () => {
  const faults = imports.filter((i) => {
    const target = getTarget(i);
    if (target === undefined) return false;
    const [from, to] = [getRoom(i.from), getRoom(target)];
    return from !== to && !LAYERS[from].includes(to);
  });
  assertEquals(faults.map((i) => `${i.from} -> ${i.specifier}`), []);
});

Deno.test("architecture: the database knows the distributed engine by one file", () => {
  const faults = imports.filter((i) => {
    const target = getTarget(i);
    return i.from !== "database/mod.ts" && getFolder(i.from) === "database" &&
      target !== undefined && getFolder(target) === "distsql" && target !== "distsql/engine.ts";
  });
  assertEquals(faults.map((i) => `${i.from} -> ${i.specifier}`), []);
});

Deno.test("architecture: a file imports the file that defines a name, never an entry point", () => {
  const faults = imports.filter((i) => {
    const target = getTarget(i);
    return target !== undefined && /(^|\/)mod\.ts$/.test(target) &&
      !MAY_IMPORT_ENTRY_POINTS.includes(i.from);
  });
  assertEquals(faults.map((i) => `${i.from} -> ${i.specifier}`), []);
});

Deno.test("architecture: only the client and drizzle's tables load drizzle", () => {
  const loading = imports.filter(({ from, specifier, kind }) =>
    kind !== "type" && getPackage(specifier) === "drizzle-orm" && getFolder(from) !== "cli"
  );
  assertEquals([...new Set(loading.map(({ from }) => from))].sort(), LOAD_DRIZZLE);
});

Deno.test("architecture: files do not import each other in circles", () => {
  const edges = new Map<string, string[]>();
  for (const i of imports) {
    const target = getTarget(i);
    if (target !== undefined && i.kind !== "dynamic") {
      edges.set(i.from, [...edges.get(i.from) ?? [], target]);
    }
  }
  const done = new Set<string>();
  const circles: string[] = [];
  function visit(file: string, path: string[]): void {
    if (path.includes(file)) circles.push([...path.slice(path.indexOf(file)), file].join(" -> "));
    if (done.has(file) || path.includes(file)) return;
    for (const next of edges.get(file) ?? []) visit(next, [...path, file]);
    done.add(file);
  }
  for (const file of files) visit(file, []);
  assertEquals(circles, []);
});

/** Folders whose subfolders import each other in one direction only. */
const ONE_DIRECTION = ["auth", "cli", "core", "database", "jobs", "validation"];
/** Those of them whose own files count as one more subfolder. */
const WITH_OWN_FILES = ["auth", "core", "jobs", "validation"];

/** Finds a path that leads from a folder back to itself. */
function findCircle(
  edges: ReadonlyMap<string, ReadonlySet<string>>,
  room: string,
  path: readonly string[] = [],
): string | undefined {
  if (path.includes(room)) return [...path.slice(path.indexOf(room)), room].join(" -> ");
  for (const next of edges.get(room) ?? []) {
    const circle = findCircle(edges, next, [...path, room]);
    if (circle !== undefined) return circle;
  }
  return undefined;
}

Deno.test("architecture: subfolders do not import each other in circles", () => {
  for (const folder of ONE_DIRECTION) {
    // the files beside the rooms are a room too: rooms do not import them
    const getRoom = (file: string): string | undefined => {
      const [top, room, name] = file.split("/");
      if (top !== folder) return undefined;
      if (name !== undefined) return room;
      return WITH_OWN_FILES.includes(folder) ? "." : undefined;
    };
    const edges = new Map<string, Set<string>>();
    for (const i of imports) {
      const target = getTarget(i);
      const [from, to] = [getRoom(i.from), target && getRoom(target)];
      if (from === undefined || to === undefined || from === to) continue;
      edges.set(from, (edges.get(from) ?? new Set()).add(to));
    }
    assertEquals(edges.size > 0, true, `${folder} has no subfolders that import each other`);
    assertEquals([...edges.keys()].map((room) => findCircle(edges, room)).filter(Boolean), []);
  }
});

Deno.test("architecture: each npm package has its home", () => {
  const faults = imports.filter((i) => {
    if (
      i.specifier.startsWith(".") || i.specifier.startsWith("node:") || getFolder(i.from) === "cli"
    ) return false;
    return !(HOMES[getPackage(i.specifier)] ?? []).includes(getFolder(i.from));
  });
  assertEquals(faults.map((i) => `${i.from} -> ${i.specifier}`), []);
});

Deno.test("architecture: a build loads no compiler of TypeScript, and no command loads a parser before it runs", () => {
  const reach = (entry: string): Set<string> => {
    const reached = new Set([entry]);
    const packages = new Set<string>();
    for (const file of reached) {
      for (const each of imports) {
        if (each.from !== file || each.kind !== "static") continue;
        const target = getTarget(each);
        if (target !== undefined) reached.add(target);
        else packages.add(getPackage(each.specifier));
      }
    }
    return packages;
  };
  const build = reach("cli/build/bundle.ts");
  assertEquals([build.has("acorn"), build.has("typescript")], [true, false]);
  const main = reach("cli/main.ts");
  assertEquals([main.has("acorn"), main.has("typescript"), main.has("esbuild")], [
    false,
    false,
    false,
  ]);
});

Deno.test("architecture: heavy packages are loaded when they are needed, each by one file", () => {
  // a file that nobody imports statically is itself loaded when it is needed
  const importedStatically = new Set(imports.filter((i) => i.kind === "static").map(getTarget));
  for (const name of LAZY) {
    const loaders = new Set(
      imports.filter((i) =>
        getPackage(i.specifier) === name && getFolder(i.from) !== "cli" && i.kind !== "type"
      )
        .map((i) => {
          const eager = i.kind === "static" &&
            (importedStatically.has(i.from) || entryPoints.has(i.from));
          assertEquals(eager, false, `${i.from} makes everybody load ${i.specifier}`);
          return i.from;
        }),
    );
    for (const folder of ["database", "auth"]) {
      const own = [...loaders].filter((file) => getFolder(file) === folder);
      assertEquals(
        own.length <= (MAY_LOAD[name] ?? 1),
        true,
        `${name} is loaded by ${own.join(", ")}`,
      );
    }
  }
});

Deno.test("architecture: library code knows no Deno global", () => {
  const faults = files.filter((file) => getFolder(file) !== "cli").filter((file) => {
    const source = Deno.readTextFileSync(join(ROOT, file)).replace(/\/\*[\s\S]*?\*\//g, "").replace(
      /\/\/.*$/gm,
      "",
    );
    return /\bDeno\.(?!customInspect)/.test(source.replace(/"[^"\n]*"/g, '""'));
  });
  assertEquals(faults, []);
});

/** Functions that Node 20 does not have; Deno and newer versions of Node have them. */
const AFTER_NODE_20 =
  /\b(?:Map\.groupBy|Object\.groupBy|Promise\.(?:withResolvers|try)|Array\.fromAsync|RegExp\.escape|Iterator\.from)\b|\.(?:isSubsetOf|isSupersetOf|isDisjointFrom|symmetricDifference)\(/;

Deno.test("architecture: library code uses no function that Node 20 does not have", async () => {
  assertEquals(AFTER_NODE_20.test("return Map.groupBy(all, key);"), true);
  const found: string[] = [];
  for (const file of files) {
    const text = await Deno.readTextFile(new URL(`../${file}`, import.meta.url));
    for (const line of text.split("\n")) {
      if (AFTER_NODE_20.test(line) && !/^\s*(?:\/\/|\/?\*)/.test(line)) {
        found.push(`${file}: ${line.trim()}`);
      }
    }
  }
  assertEquals(found, []);
});

Deno.test("architecture: errors imports no package", () => {
  const faults = imports.filter((i) =>
    getFolder(i.from) === "errors" && !i.specifier.startsWith(".")
  );
  assertEquals(faults.map((i) => `${i.from} -> ${relative(".", i.specifier)}`), []);
});

Deno.test("architecture: ./testing loads no database, no accounts, no command line and no package", () => {
  const loaded = new Set(["testing/mod.ts"]);
  const packages: string[] = [];
  for (const file of loaded) {
    for (const i of imports) {
      if (i.from !== file || i.kind !== "static") continue;
      const target = getTarget(i);
      if (target !== undefined) loaded.add(target);
      else if (!i.specifier.startsWith("node:")) packages.push(i.specifier);
    }
  }
  assertEquals(
    [...loaded].filter((file) => /^(?:auth|cli|database|distsql|mail|realtime)\//.test(file)),
    [],
  );
  assertEquals(packages, []);
});

Deno.test("architecture: the package's own metrics follow METRICS_DIMENSIONS, but those that alarms read", async () => {
  const users: string[] = [];
  for (const file of files) {
    const lines = (await Deno.readTextFile(new URL(`../${file}`, import.meta.url))).split("\n");
    const isUsed = lines.some((line) => /^[^*]*\bmetrics\.addMetricsWithDimensions\(/.test(line));
    if (isUsed) users.push(file);
  }
  assertEquals(users.sort(), ["jobs/relay.ts", "observability/metrics.ts"]);
});
