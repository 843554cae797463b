/**
 * Runs the tests of several files in one isolate, so that the library and its packages are loaded
 * once. A file is imported when the tests of the file before it have ended: what it configures and
 * opens while it is imported is there for its own tests. To the test runner each file is one test, and
 * each of its tests a step.
 *
 *   deno test -A --no-check tests/support/one_isolate.ts -- tests/core/*_test.ts
 */
import { AsyncLocalStorage } from "node:async_hooks";

type Hook = () => unknown;
type HookName = "beforeAll" | "beforeEach" | "afterEach" | "afterAll";

/** Tests and hooks that one file registers. */
interface TestFile {
  readonly url: string;
  readonly tests: Deno.TestStepDefinition[];
  readonly hooks: Readonly<Record<HookName, Hook[]>>;
}

/** Hooks of modules that several files import; they run after the last file. */
const finalHooks: Hook[] = [];
const runner = Deno.test;
/** Calls a function outside of any invocation: the runner may start a test in the context of another one. */
const runOutside = AsyncLocalStorage.snapshot();
const addListener = globalThis.addEventListener;
let current: TestFile;

const collector = Object.assign(collect, {
  ignore: (...args: unknown[]) => collect(...args, { ignore: true }),
  beforeAll: (hook: Hook) => addHook("beforeAll", hook),
  beforeEach: (hook: Hook) => addHook("beforeEach", hook),
  afterEach: (hook: Hook) => addHook("afterEach", hook),
  afterAll: (hook: Hook) => addHook("afterAll", hook),
});
Object.defineProperty(Deno, "test", { value: collector });
globalThis.addEventListener = (type: string, listener: unknown, ...rest: unknown[]) => {
  if (type === "unload" && isCalledBy(current.url)) return addHook("afterAll", listener as Hook);
  Reflect.apply(addListener, globalThis, [type, listener, ...rest]);
};

/** Folders whose tests open no database; one of them measures memory. */
const WITHOUT_DATABASE =
  /^tests\/(?:core|env|errors|observability|router|scripts|streaming|validation)\//;
if (!Deno.args.every((path) => WITHOUT_DATABASE.test(path))) await import("./embedded_pool.ts");

for (const path of Deno.args) {
  runner(path, (t) => runOutside(importAndRun, path, t));
}
runner.afterAll(async () => {
  for (const hook of finalHooks.toReversed()) await hook();
});

/** Takes a test in each form of `Deno.test()`: its name, options and function, in this order. */
function collect(...args: unknown[]): void {
  const definition: Partial<Deno.TestStepDefinition> = {};
  for (const arg of args) {
    if (typeof arg === "string") definition.name = arg;
    if (typeof arg === "function") definition.fn = arg as Deno.TestStepDefinition["fn"];
    if (typeof arg === "object") Object.assign(definition, arg);
  }
  definition.name ??= definition.fn?.name;
  current.tests.push(definition as Deno.TestStepDefinition);
}

function addHook(name: HookName, hook: Hook): void {
  if (isCalledBy(current.url)) current.hooks[name].push(hook);
  else if (name === "afterAll") finalHooks.push(hook);
  else {throw new Error(
      `Call Deno.test.${name}() in the test file itself: files share this isolate`,
    );}
}

/** Reports if a module is among the callers of this function. */
function isCalledBy(url: string): boolean {
  return new Error().stack?.includes(url) ?? false;
}

async function importAndRun(path: string, t: Deno.TestContext): Promise<void> {
  current = {
    url: new URL(`../../${path}`, import.meta.url).href,
    tests: [],
    hooks: { beforeAll: [], beforeEach: [], afterEach: [], afterAll: [] },
  };
  await import(current.url);
  await runFile(t, current);
}

async function runFile(t: Deno.TestContext, { tests, hooks }: TestFile): Promise<void> {
  try {
    await runHooks(hooks.beforeAll);
    for (const test of tests) await runTest(t, test, hooks);
  } finally {
    await runHooks(hooks.afterAll.toReversed());
  }
}

async function runTest(
  t: Deno.TestContext,
  test: Deno.TestStepDefinition,
  { beforeEach, afterEach }: TestFile["hooks"],
): Promise<void> {
  await t.step({
    ...test,
    async fn(step) {
      try {
        await runHooks(beforeEach);
        await test.fn(step);
      } finally {
        await runHooks(afterEach.toReversed());
      }
    },
  });
}

async function runHooks(hooks: readonly Hook[]): Promise<void> {
  for (const hook of hooks) await hook();
}
