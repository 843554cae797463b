import { assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { createEvaluator } from "../../../cli/analysis/evaluate.ts";
import {
  type HandlerDefinition,
  readHandlerDefinition,
} from "../../../cli/analysis/handler_definition.ts";
import { Project } from "../../../cli/analysis/project.ts";
import { type Fixture, withProject } from "../fixtures/analyse.ts";

const OPTIONS = ["auth", "timeout", "memorySize", "deadLetterQueue", "openapi"];

/** What is read of `fn.ts`: the definer and the options, `?` and the text where one cannot be told. */
function readFixture<T>(
  files: Fixture,
  use: (definition: HandlerDefinition, project: Project) => T,
): Promise<T> {
  return withProject(files, (root) => {
    const project = new Project(root);
    return use(
      readHandlerDefinition(project, createEvaluator(project, new Map()), join(root, "fn.ts")),
      project,
    );
  });
}

function describe(definition: HandlerDefinition): unknown {
  const options = OPTIONS.flatMap((name) => {
    const literal = definition.getLiteral(name);
    if (literal === undefined) return [];
    return [[name, literal.kind === "known" ? literal.value : `? ${literal.node.getText()}`]];
  });
  return [definition.definer, Object.fromEntries(options)];
}

const API = `import { defineApiHandler } from "@trellis/fn/validation";`;

const CASES: readonly (readonly [what: string, expected: unknown, files: Fixture])[] = [
  ["reads literals", ["defineApiHandler", {
    auth: "session",
    timeout: 10,
    memorySize: 1024,
    deadLetterQueue: { targetArn: "arn:aws:sqs:eu-central-1:1:dead" },
    openapi: { tags: ["a", "b"], summary: "s-1" },
  }], {
    "fn.ts": `${API}
      export const handler = defineApiHandler({
        auth: "session" as const, timeout: (10), memorySize: 1_024,
        deadLetterQueue: { targetArn: "arn:aws:sqs:eu-central-1:1:dead" },
        openapi: { tags: ["a", ...["b"]], summary: \`s-\${1}\` },
      })(async function fn() {});`,
  }],
  ["works out numbers", ["defineApiHandler", { timeout: 300, memorySize: 1024 }], {
    "fn.ts":
      `${API} export const handler = defineApiHandler({ timeout: 5 * 60, memorySize: 2 ** 10 })(() => {});`,
  }],
  ["follows constants over files, namespaces, members and destructuring", ["defineQueueHandler", {
    timeout: 30,
    memorySize: 512,
    auth: "none",
  }], {
    "limits.ts":
      `export const SECONDS = 30; export const SIZES = { small: { memory: 512 } } as const; export default { auth: "none" };`,
    "barrel.ts": `export * from "./limits.ts"; export { default as defaults } from "./limits.ts";`,
    "fn.ts":
      `import * as trellis from "@trellis/fn"; import * as limits from "./barrel.ts"; import { SECONDS as timeout } from "./barrel.ts";
      const { small: { memory } } = limits.SIZES;
      const { auth } = limits.defaults;
      export const handler = trellis.defineQueueHandler({ timeout, memorySize: memory, auth })(async () => {});`,
  }],
  ["knows members of enums, the project's and the package's", ["defineApiHandler", {
    auth: "session",
    openapi: "SELECT",
  }], {
    "fn.ts": `${API} import { DatabaseOperation } from "@trellis/fn/database";
      enum Auth { Session = "session" }
      export const handler = defineApiHandler({ auth: Auth.Session, openapi: DatabaseOperation.Select })(() => {});`,
  }],
  [
    "lets the last of spreads and properties win",
    ["defineApiHandler", { auth: "bearer", timeout: 5, memorySize: 256 }],
    {
      "base.ts": `export const base = { auth: "none", timeout: 5, memorySize: 128 };`,
      "fn.ts": `${API} import { base } from "./base.ts";
      const memorySize = 256;
      const options = Object.freeze({ auth: "session", ...base, memorySize, auth: "bearer" });
      export const handler = defineApiHandler(options)(() => {});`,
    },
  ],
  ["follows an export of another name, and one from another file", ["defineApiHandler", {
    timeout: 3,
  }], {
    "real.ts":
      `${API} const run = defineApiHandler({ timeout: 3 })(() => {}); export { run as endpoint };`,
    "fn.ts": `export { endpoint as handler } from "./real.ts";`,
  }],
  ["follows a wrapper around the options", ["defineApiHandler", {
    auth: "session",
    timeout: 9,
    memorySize: 512,
  }], {
    "api.ts":
      `${API} export const api = (options, memorySize = 512) => defineApiHandler({ timeout: 3, ...options, memorySize, auth: "session" });`,
    "fn.ts":
      `import { api } from "./api.ts"; export const handler = api({ timeout: 9, auth: "none" })(() => {});`,
  }],
  ["follows a wrapper around options and function", ["defineApiHandler", {
    auth: "bearer",
    timeout: 7,
  }], {
    "api.ts": `${API} export function api({ auth, seconds }: any, run) {
      const timeout = seconds + 1;
      return defineApiHandler({ auth, timeout })(run);
    }`,
    "fn.ts":
      `import { api } from "./api.ts"; export const handler = api({ seconds: 6, auth: "bearer" }, async () => {});`,
  }],
  ["follows a wrapper that makes wrappers", ["defineApiHandler", { auth: "session", timeout: 4 }], {
    "fn.ts":
      `${API} const make = (auth: string) => (options: any) => defineApiHandler({ ...options, auth });
      const secured = make("session");
      export const handler = secured({ timeout: 4 })(() => {});`,
  }],
  ["keeps what a package's wrapper is given", ["defineScheduleHandler", { timeout: 60 }], {
    "fn.ts":
      `import { defineScheduleHandler } from "@trellis/fn"; import * as tracker from "tracker";
      export const handler = tracker.wrap(defineScheduleHandler({ timeout: 60 })(() => {}));`,
  }],
  ["knows createAuthHandler, whose options come second", ["createAuthHandler", {}], {
    "fn.ts": `import { createAuthHandler, getConfiguredSessionAuth } from "@trellis/fn/auth";
      export const handler = createAuthHandler(getConfiguredSessionAuth);`,
  }],
  ["gives no options where there are none", ["defineApiHandler", {}], {
    "fn.ts": `${API} export const handler = defineApiHandler()(() => {});`,
  }],
  ["calls a plain function something else", [undefined, {}], {
    "fn.ts": `export async function handler(event: unknown) { return event; }`,
  }],
  ["calls what another package makes something else", [undefined, {}], {
    "fn.ts":
      `import middy from "middy"; const run = middy(async () => {}); export const handler = run.use({}).use({});`,
  }],
];

for (const [what, expected, files] of CASES) {
  Deno.test(`readHandlerDefinition() ${what}`, async () => {
    await readFixture(files, (definition) => {
      assertEquals(definition.unresolved.map(({ message }) => message), []);
      assertEquals(describe(definition), expected);
    });
  });
}

const UNTOLD: readonly (readonly [what: string, line: number, message: string, code: string])[] = [
  ["a missing handler", 1, "the file does not export a handler", `export const other = 1;`],
  [
    "a handler that may be exchanged",
    2,
    "declared with let",
    `${API}\nexport let handler = defineApiHandler({})(() => {});`,
  ],
  [
    "a handler that a call gives",
    2,
    "the definition of the handler",
    `import { lookUp } from "./api.ts";\nexport const handler = lookUp();`,
  ],
  [
    "options that a call gives",
    2,
    "the options of defineApiHandler",
    `${API} import { lookUp } from "./api.ts";
export const handler = defineApiHandler(lookUp())(() => {});`,
  ],
  [
    "a spread that a call gives",
    2,
    "options of defineApiHandler",
    `${API} import { lookUp } from "./api.ts";
export const handler = defineApiHandler({ ...lookUp(), auth: "none" })(() => {});`,
  ],
  [
    "a name that is worked out",
    2,
    "options of defineApiHandler",
    `${API}
export const handler = defineApiHandler({ [process.env.X]: 1, auth: "none" })(() => {});`,
  ],
  [
    "a wrapper that decides",
    2,
    "the definition of the handler",
    `${API} function api(o: any) { if (o.x) return defineApiHandler({}); return defineApiHandler(o); }
export const handler = api({ auth: "none" })(() => {});`,
  ],
];

for (const [what, line, message, code] of UNTOLD) {
  Deno.test(`readHandlerDefinition() names ${what}, with file and line`, async () => {
    const files = {
      "fn.ts": code,
      "api.ts": `export function lookUp(): any { if (Math.random() > 0.5) return {}; return {}; }`,
    };
    await readFixture(files, ({ unresolved }, project) => {
      assertEquals(unresolved.length, 1);
      assertStringIncludes(unresolved[0].message, message);
      assertEquals([project.getPath(unresolved[0].node), project.getLine(unresolved[0].node)], [
        "fn.ts",
        line,
      ]);
    });
  });
}

Deno.test("getLiteral() names the part that is only known at run time", async () => {
  const files = {
    "fn.ts": `${API}
      const limits = { timeout: Number(process.env.TIMEOUT), memorySize: 128 };
      export const handler = defineApiHandler({ auth: "none", timeout: limits.timeout, memorySize: limits.memorySize })(() => {});`,
  };
  await readFixture(files, (definition) => {
    assertEquals(describe(definition), ["defineApiHandler", {
      auth: "none",
      timeout: "? Number(process.env.TIMEOUT)",
      memorySize: 128,
    }]);
  });
});

Deno.test("getLiteral() is unknown for what a spread may set, and known for what comes after it", async () => {
  const files = {
    "fn.ts": `${API} import { given } from "./elsewhere.json";
      export const handler = defineApiHandler({ timeout: 3, ...given, auth: "none" })(() => {});`,
    "elsewhere.json": "{}",
  };
  await readFixture(files, (definition) => {
    assertEquals(definition.getLiteral("auth"), { kind: "known", value: "none" });
    assertEquals(definition.getLiteral("timeout")?.kind, "unknown");
  });
});

Deno.test("getLiteral() is unknown for a constant that leads to itself", async () => {
  const files = {
    "fn.ts": `${API} const a = b; const b = a;
      export const handler = defineApiHandler({ timeout: a })(() => {});`,
  };
  await readFixture(
    files,
    (definition) => assertEquals(definition.getLiteral("timeout")?.kind, "unknown"),
  );
});

Deno.test("getExpression() gives the expression at the end of names, spreads and wrappers", async () => {
  const files = {
    "schemas.ts": `import * as z from "zod"; export const Note = z.object({ id: z.uuid() });`,
    "api.ts":
      `${API} export const api = (options: any) => defineApiHandler({ ...options, auth: "session" });`,
    "fn.ts": `import { api } from "./api.ts"; import * as schemas from "./schemas.ts";
      const shared = { schema: schemas.Note, querySchema: undefined };
      export const handler = api({ ...shared, pathSchema: imported })(() => {});
      import { imported } from "elsewhere";`,
  };
  await readFixture(files, (definition, project) => {
    const schema = definition.getExpression("schema")!;
    assertEquals([schema.getText(), project.getPath(schema)], [
      "z.object({ id: z.uuid() })",
      "schemas.ts",
    ]);
    assertEquals(definition.getExpression("querySchema"), undefined);
    assertEquals(definition.getExpression("responseSchema"), undefined);
    assertEquals(definition.getExpression("pathSchema")?.getText(), "imported");
    assertEquals(definition.options?.getText(), `{ ...options, auth: "session" }`);
  });
});
