import { assert, assertEquals, assertThrows } from "@std/assert";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { takeInstanceLock } from "../../../cli/files/instance_lock.ts";
import { ConfigurationError } from "../../../errors/http_errors.ts";
import { withTempFolder } from "../../support/temp_folder.ts";

const LOCK = new URL("../../../cli/files/instance_lock.ts", import.meta.url).href;

/** Takes the locks of a folder at the same times as its siblings, prints which it got, and keeps them until its input ends. */
const TAKE_ALL = `
const [lock, folder, count] = Deno.args;
const { takeInstanceLock } = await import(lock);
console.log("ready");
const input = Deno.stdin.readable.pipeThrough(new TextDecoderStream()).getReader();
const startMs = Number((await input.read()).value);
const got = [];
for (let index = 0; index < Number(count); index++) {
  while (Date.now() < startMs + index * 4);
  try {
    takeInstanceLock(folder + "/" + index);
    got.push(index);
  } catch (error) {
    if (!error.message.includes("is already running")) throw error;
  }
}
console.log(JSON.stringify(got));
await input.read();
`;

/** Starts a process that takes the locks of a folder. */
async function startTaking(folder: string, count: number) {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["eval", "--no-check", TAKE_ALL, LOCK, folder, String(count)],
    stdin: "piped",
    stdout: "piped",
  }).spawn();
  const lines = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  const writer = child.stdin.getWriter();
  assertEquals((await lines.read()).value, "ready\n");
  return {
    async takeAll(startMs: number): Promise<number[]> {
      await writer.write(new TextEncoder().encode(String(startMs)));
      return JSON.parse((await lines.read()).value ?? "[]");
    },
    async stop(): Promise<void> {
      await writer.close();
      await lines.cancel();
      assert((await child.status).success);
    },
  };
}

async function withFolder(use: (folder: string) => Promise<void> | void): Promise<void> {
  await withTempFolder({}, async (folder) => {
    await use(folder);
  });
}

/** Returns the id of a process that has ended. */
async function findDeadPid(): Promise<number> {
  const child = new Deno.Command("true").spawn();
  await child.status;
  return child.pid;
}

Deno.test("takeInstanceLock() lets one of several processes take over the lock of a dead one", async () => {
  await withFolder(async (folder) => {
    const dead = String(await findDeadPid());
    const count = 500;
    for (let index = 0; index < count; index++) {
      // some were killed before they wrote
      await Deno.writeTextFile(join(folder, String(index)), index % 50 === 0 ? "" : dead);
    }
    const processes = await Promise.all([1, 2, 3].map(() => startTaking(folder, count)));
    const startMs = Date.now() + 100;
    const taken = await Promise.all(processes.map(({ takeAll }) => takeAll(startMs)));
    for (const { stop } of processes) await stop();
    assertEquals(
      taken.flat().sort((a, b) => a - b),
      Array.from({ length: count }, (_, index) => index),
    );
  });
});

Deno.test("takeInstanceLock() names what a process has left that was killed while it took a lock", async () => {
  await withFolder(async (folder) => {
    const file = join(folder, "lock");
    const dead = String(await findDeadPid());
    for (const name of [file, `${file}.takeover`]) await Deno.writeTextFile(name, dead);
    assertThrows(() => takeInstanceLock(file), ConfigurationError, `delete ${file}.takeover`);
    await Deno.remove(`${file}.takeover`);
    takeInstanceLock(file)();
    assertEquals(existsSync(file), false);
  });
});
