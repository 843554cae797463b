import { assertEquals } from "@std/assert";
import { fileURLToPath } from "node:url";
import { startFaultyProxy } from "../support/faulty_proxy.ts";
import { startPostgres, type TestPostgres } from "../support/postgres.ts";
import { closeOrders, createOrders, sendMessage, sendRequest } from "./orders.ts";
import { IDEMPOTENCY_MIGRATION_SQL } from "../../idempotency/mod.ts";

const IS_FULL = Deno.env.get("TRELLIS_FULL_TESTS") === "1";
const PROCESS = fileURLToPath(new URL("order_process.ts", import.meta.url));

/** Server with the tables of the orders. */
interface Lab {
  readonly postgres: TestPostgres;
  readonly url: string;
  /** Number of rows with the key. */
  countOrders(key: string): Promise<number>;
}

async function withLab(test: (lab: Lab) => Promise<void>): Promise<void> {
  const postgres = await startPostgres();
  const { default: connect } = await import("postgres");
  const sql = connect(postgres.url, { max: 1, onnotice: () => {} });
  const url = `${postgres.url}?sslmode=disable`;
  try {
    await sql.unsafe(IDEMPOTENCY_MIGRATION_SQL.replaceAll("--> statement-breakpoint", ""));
    await sql.unsafe("CREATE TABLE orders (id int GENERATED ALWAYS AS IDENTITY, key text)");
    await test({
      postgres,
      url,
      countOrders: async (key) =>
        Number((await sql`SELECT count(*) AS n FROM orders WHERE key = ${key}`)[0].n),
    });
  } finally {
    await closeOrders(url);
    await sql.end();
    await postgres.stop();
  }
}

/** Starts a process and waits until it is connected. */
async function startProcess(url: string, kind: string, key: string, count: number) {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", PROCESS, url, kind, key, String(count)],
    stdin: "piped",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  while (!text.startsWith("ready\n")) text += (await reader.read()).value;
  return {
    child,
    async go(): Promise<void> {
      const writer = child.stdin.getWriter();
      await writer.write(new Uint8Array([10]));
      await writer.close();
    },
    async finish(): Promise<string> {
      for (;;) {
        const { value, done } = await reader.read();
        if (done) break;
        text += value;
      }
      const { code, signal } = await child.status;
      // metrics are written to the same output
      const line = text.split("\n").find((line) => line.startsWith('{"distinct"'));
      if (line !== undefined) return line;
      if (signal !== null) return "";
      throw new Error(`The process ended with ${code} and wrote: ${text}`);
    },
  };
}

for (const kind of ["request", "message"] as const) {
  const processes = kind === "message" ? 2 : IS_FULL ? 8 : 3;
  const duplicates = IS_FULL ? 10_000 : 300;
  Deno.test(`createTransactionStore() applies a ${kind} once when processes race`, async () => {
    await withLab(async ({ url, countOrders }) => {
      const racing = await Promise.all(
        Array.from(
          { length: processes },
          () => startProcess(url, kind, "k-1", duplicates / processes),
        ),
      );
      await Promise.all(racing.map((one) => one.go()));
      const results = (await Promise.all(racing.map((one) => one.finish()))).map((text) =>
        JSON.parse(text)
      );
      const answers = new Map<string, number>();
      for (const [text, count] of results.flatMap(({ distinct }) => distinct)) {
        answers.set(text, (answers.get(text) ?? 0) + count);
      }
      const conflicts = results.reduce((sum, one) => sum + one.conflicts, 0);
      if (IS_FULL) {
        // deno-lint-ignore no-console -- figures of the full run
        console.log(`${duplicates} duplicates, ${processes} processes, ${conflicts} conflicts`);
      }
      assertEquals([...answers.values()], [Math.floor(duplicates / processes) * processes]);
      assertEquals(await countOrders("k-1"), 1);
    });
  });
}

Deno.test("createTransactionStore() applies a request once when its process is killed", async () => {
  await withLab(async ({ postgres, url, countOrders }) => {
    const orders = createOrders(url);
    const step = IS_FULL ? 1 : 5;
    let boundaries = 0;
    for (const kind of IS_FULL ? ["request", "message"] : ["request"]) {
      const send = kind === "request" ? sendRequest : sendMessage;
      for (let at = 0;; at += step) {
        const key = `${kind}-${at}`;
        const killed = await killAt(postgres, kind, key, at);
        const answer = await send(orders, key);
        assertEquals(await send(orders, key), { ...answer, conflicts: 0 });
        assertEquals([key, await countOrders(key)], [key, 1]);
        if (!killed) break;
        boundaries++;
      }
    }
    // deno-lint-ignore no-console -- figure of the run
    if (IS_FULL) console.log(`killed at ${boundaries} boundaries`);
  });
});

/**
 * Kills a process when it sends, or is to receive, its `at`th message after it connected. A message of an odd number still
 * arrives. Returns `false` if the process ended before.
 */
async function killAt(
  { port }: TestPostgres,
  kind: string,
  key: string,
  at: number,
): Promise<boolean> {
  const proxy = await startFaultyProxy(port);
  try {
    const url = `postgres://postgres@127.0.0.1:${proxy.port}/postgres?sslmode=disable`;
    const { child, go, finish } = await startProcess(url, kind, key, 1);
    let messages = 0;
    let killed = false;
    const onMessage = (watchNext: () => void): void => {
      if (killed) return;
      if (messages++ < Math.floor(at / 2)) return watchNext();
      killed = true;
      child.kill("SIGKILL");
      if (at % 2 === 0) proxy.set("black-hole");
      else setTimeout(() => proxy.cut(), 50);
    };
    const watchSent = (): void => proxy.onceSent("", () => onMessage(watchSent));
    const watchAnswered = (): void => proxy.onceAnswered("", () => onMessage(watchAnswered));
    watchSent();
    watchAnswered();
    await go();
    await finish();
    return killed;
  } finally {
    await proxy.stop();
  }
}
