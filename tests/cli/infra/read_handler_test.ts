import { assertEquals } from "@std/assert";
import { type Fixture, readInfraFacts } from "../fixtures/analyse.ts";

/** Returns the definer and the options of the handler in `fn.ts`; `?` where the environment decides. */
async function readHandler(files: Fixture): Promise<[string | undefined, object]> {
  const { definer, options } = await readInfraFacts(files);
  const entries = Object.entries(options).map(([name, { value = "?" }]) => [name, value]);
  return [definer, Object.fromEntries(entries)];
}

const API = `import { defineApiHandler } from "@trellis/fn/validation";`;
const EVENTS =
  `import { defineQueueHandler, defineScheduleHandler } from "@trellis/fn/triggers"; import { getOptionalEnv } from "@trellis/fn/env";`;

const CASES: readonly (readonly [
  what: string,
  definer: string | undefined,
  options: object,
  files: Fixture,
])[] = [
  ["literals and computed numbers", "defineScheduleHandler", {
    timeout: 300,
    memorySize: 1024,
    deadLetterQueue: { targetArn: "arn:aws:sqs:eu-central-1:1:dead" },
  }, {
    "fn.ts": `${EVENTS}
      export const handler = defineScheduleHandler({
        timeout: 5 * 60, memorySize: 2 ** 10, deadLetterQueue: { targetArn: "arn:aws:sqs:eu-central-1:1:dead" },
      })(async function fn() {});`,
  }],
  ["constants of other files, namespaces and members", "defineQueueHandler", {
    timeout: 30,
    memorySize: 512,
  }, {
    "limits.ts":
      `export const SECONDS = 30; export const SIZES = { small: { memory: 512 } } as const;`,
    "barrel.ts": `export * from "./limits.ts";`,
    "fn.ts":
      `import * as trellis from "@trellis/fn/triggers"; import * as limits from "./barrel.ts"; import { SECONDS as timeout } from "./barrel.ts";
      const { small: { memory } } = limits.SIZES;
      export const handler = trellis.defineQueueHandler({ timeout, memorySize: memory })(async () => {});`,
  }],
  ["the last of spreads and properties", "defineApiHandler", {
    auth: "bearer",
    timeout: 5,
    memorySize: 256,
  }, {
    "base.ts": `export const base = { auth: "none", timeout: 5, memorySize: 128 } as const;`,
    "fn.ts": `${API} import { base } from "./base.ts";
      const memorySize = 256;
      const options = Object.freeze({ ...base, memorySize, auth: "bearer" } as const);
      export const handler = defineApiHandler(options)(() => {});`,
  }],
  ["options that are spread from an object of another file", "defineApiHandler", {
    auth: "bearer",
    timeout: 7,
    memorySize: 512,
  }, {
    "shared.ts": `export const limits = { timeout: 9, memorySize: 512 };`,
    "fn.ts": `${API} import { limits } from "./shared.ts";
      const shared = { ...limits, auth: "bearer" } as const;
      export const handler = defineApiHandler({ ...shared, timeout: 7 })(() => {});`,
  }],
  ["an export of another file with another name", "defineApiHandler", { timeout: 3 }, {
    "real.ts":
      `${API} const run = defineApiHandler({ timeout: 3 })(() => {}); export { run as endpoint };`,
    "fn.ts": `export { endpoint as handler } from "./real.ts";`,
  }],
  ["a wrapper around the options", "defineApiHandler", {
    auth: "bearer",
    timeout: 9,
    memorySize: 512,
  }, {
    "api.ts":
      `${API} export const api = (options: any, memorySize = 512) => defineApiHandler({ timeout: 3, ...options, memorySize, auth: "bearer" });`,
    "fn.ts":
      `import { api } from "./api.ts"; export const handler = api({ timeout: 9, auth: "none" })(() => {});`,
  }],
  ["a wrapper around options and function", "defineApiHandler", { auth: "bearer", timeout: 7 }, {
    "api.ts": `${API} export function api({ auth, seconds }: any, run: any) {
      const timeout = seconds + 1;
      return defineApiHandler({ auth, timeout })(run);
    }`,
    "fn.ts":
      `import { api } from "./api.ts"; export const handler = api({ seconds: 6, auth: "bearer" }, async () => {});`,
  }],
  ["a wrapper that makes wrappers", "defineApiHandler", { auth: "bearer", timeout: 4 }, {
    "fn.ts":
      `${API} const make = (auth: any) => (options: any) => defineApiHandler({ ...options, auth });
      const secured = make("bearer");
      export const handler = secured({ timeout: 4 })(() => {});`,
  }],
  ["a wrapper that decides by its argument", "defineApiHandler", { auth: "bearer", timeout: 8 }, {
    "fn.ts":
      `${API} const api = (o: any) => o.open ? defineApiHandler({ auth: "none" }) : defineApiHandler({ ...o, auth: "bearer" });
      export const handler = api({ timeout: 8 })(() => {});`,
  }],
  ["a handler that another package wraps", "defineScheduleHandler", { timeout: 60 }, {
    "fn.ts": `${EVENTS} import { wrap } from "tracker";
      export const handler = wrap(defineScheduleHandler({ timeout: 60 })(() => {}));`,
  }],
  ["no options where there are none", "defineApiHandler", {}, {
    "fn.ts": `${API} export const handler = defineApiHandler()(() => {});`,
  }],
  ["no definer of a plain function", undefined, {}, {
    "fn.ts": `export async function handler(event: unknown) { return event; }`,
  }],
  ["what the environment decides", "defineScheduleHandler", { timeout: "?", memorySize: 128 }, {
    "fn.ts": `${EVENTS}
      const limits = { timeout: Number(getOptionalEnv("TIMEOUT", "5")), memorySize: 128 };
      export const handler = defineScheduleHandler({ timeout: limits.timeout, memorySize: limits.memorySize })(() => {});`,
  }],
  ["what the environment decides in a shared object", "defineScheduleHandler", {
    timeout: "?",
    memorySize: 256,
  }, {
    "shared.ts":
      `export const shared = { timeout: process.env.SLOW === "1" ? 60 : 5, memorySize: 128 };`,
    "fn.ts": `${EVENTS} import { shared } from "./shared.ts";
      export const handler = defineScheduleHandler({ ...shared, memorySize: 256 })(() => {});`,
  }],
  ["what the environment decides for a wrapper", "defineScheduleHandler", {
    timeout: "?",
    memorySize: 256,
  }, {
    "task.ts":
      `${EVENTS} export const task = (options: any) => defineScheduleHandler({ ...options, memorySize: 256 });`,
    "fn.ts": `import { task } from "./task.ts";
      export const handler = task({ timeout: process.env.SLOW === "1" ? 60 : 5 })(() => {});`,
  }],
  ["what the environment decides in a wrapper", "defineScheduleHandler", {
    timeout: "?",
    memorySize: 256,
  }, {
    "task.ts":
      `${EVENTS} const timeout = process.env.SLOW === "1" ? 60 : 5; export const task = (options: any) => defineScheduleHandler({ ...options, timeout });`,
    "fn.ts": `import { task } from "./task.ts";
      export const handler = task({ memorySize: 256 })(() => {});`,
  }],
];

for (const [what, definer, options, files] of CASES) {
  Deno.test(`read() finds ${what} of a handler`, async () => {
    assertEquals(await readHandler(files), [definer, options]);
  });
}

Deno.test("read() names a file without a handler", async () => {
  const { errors } = await readInfraFacts({ "fn.ts": "export const other = 1;" });
  assertEquals(errors.map(({ place, message }) => [place.file, place.line, message.slice(0, 35)]), [
    ["fn.ts", 1, "the file does not export a handler."],
  ]);
});
