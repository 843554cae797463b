import { assertEquals, assertRejects, assertStrictEquals } from "@std/assert";
import { silent } from "../../../database/providers/statement_limit.ts";
import {
  type BatchLimits,
  PositionChangedError,
  runBatches,
} from "../../../distsql/batches/run_batches.ts";
import { connectionLost, serverError } from "../../database/migrations/migration_support.ts";

interface Position {
  readonly at: number;
  readonly isDone: boolean;
}

const START: Position = { at: 0, isDone: false };

/** Work on ten rows. Each entry of `failures` is thrown once, by the next batch. */
function tenRows(failures: (Error | undefined)[], recorded = START) {
  const seen: [at: number, rows: number, bytes: number][] = [];
  const work = {
    limits: { rows: 4, bytes: 400 },
    recovered: 0,
    run({ at }: Position, { rows, bytes }: BatchLimits): Promise<Position> {
      seen.push([at, rows, bytes]);
      const failure = failures.shift();
      if (failure !== undefined) return Promise.reject(failure);
      return Promise.resolve({ at: at + rows, isDone: at + rows >= 10 });
    },
    recover(position: Position): Promise<Position> {
      work.recovered++;
      return Promise.resolve(recorded.at > position.at ? recorded : position);
    },
  };
  return { work, seen };
}

Deno.test("runBatches() runs batches until the work is done, and reports each", async () => {
  const { work, seen } = tenRows([]);
  const reports: [number, number][] = [];
  const end = await runBatches({
    ...work,
    onBatch: ({ at }, batches) => void reports.push([at, batches]),
  }, START);
  assertEquals(end, { at: 12, isDone: true });
  assertEquals(seen.map(([at]) => at), [0, 4, 8]);
  assertEquals(reports, [[4, 1], [8, 2], [12, 3]]);
});

Deno.test("runBatches() runs nothing when the recorded position is the end", async () => {
  const { work, seen } = tenRows([]);
  await runBatches(work, { at: 10, isDone: true });
  assertEquals(seen, []);
});

Deno.test("runBatches() repeats a batch that is too large with a quarter of its rows and bytes", async () => {
  const { work, seen } = tenRows([undefined, serverError("54000")]);
  await runBatches(work, START);
  assertEquals(seen.slice(0, 4), [[0, 4, 400], [4, 4, 400], [4, 1, 100], [5, 1, 100]]);
  assertEquals(work.recovered, 0);
});

Deno.test("runBatches() throws the described error when a single row is too large", async () => {
  const described = new Error("one row is too large");
  const tooLarge = serverError("54000");
  const { work } = tenRows([tooLarge, tooLarge]);
  const explained = { ...work, describeTooLarge: () => described };
  assertStrictEquals(await assertRejects(() => runBatches(explained, START)), described);
  assertStrictEquals(
    await assertRejects(() => runBatches(tenRows([tooLarge, tooLarge]).work, START)),
    tooLarge,
  );
});

Deno.test("runBatches() continues at the recorded position after a lost connection", async () => {
  const { work, seen } = tenRows([connectionLost()], { at: 8, isDone: false });
  await runBatches(work, START);
  assertEquals(seen.map(([at]) => at), [0, 8]);
});

Deno.test("runBatches() throws the error that occurs too often in a row", async () => {
  const changed = new PositionChangedError("changed");
  const cases: [error: Error, tries: number][] = [
    [connectionLost(), 9],
    [silent({ ms: 1000 }), 2],
    [changed, 3],
    [serverError("23514"), 1],
  ];
  for (const [error, tries] of cases) {
    const often = tenRows(Array(20).fill(error));
    assertStrictEquals(await assertRejects(() => runBatches(often.work, START)), error);
    assertEquals(often.seen.length, tries, error.message);
    const seldom = tenRows([
      ...Array(tries - 1).fill(error),
      undefined,
      ...Array(tries - 1).fill(error),
    ]);
    assertEquals((await runBatches(seldom.work, START)).isDone, true, error.message);
  }
});
