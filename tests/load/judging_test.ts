import { assertAlmostEquals, assertEquals } from "@std/assert";
import { fitLine } from "../../bench/load/fit_line.ts";
import { getBody, Ledger, type StoredRows } from "../../bench/load/ledger.ts";
import { type Outcome, Outcomes, percentile } from "../../bench/load/outcomes.ts";
import type { LoadReport, LoadSample } from "../../bench/load/run_load.ts";
import { getGrowth, judge } from "../../bench/load/verdict.ts";

const outcome = (fields: Partial<Outcome>): Outcome => ({
  ...{ kind: "get", result: 200, startedAt: 10, endedAt: 20, expected: [200], usesDatabase: true },
  ...fields,
});

Deno.test("Outcomes.add() takes an error for an outage only when the database was down and the answer says so", () => {
  const down = { from: 15, until: 30 };
  const cases: [Partial<Outcome>, boolean][] = [
    [{ result: 500, code: "DATABASE" }, true],
    [{ result: 503, code: "SERVICE_UNAVAILABLE", startedAt: 29, endedAt: 90 }, true],
    [{ result: 500, code: "DATABASE", startedAt: 30, endedAt: 40 }, false],
    [{ result: 500, code: "DATABASE", startedAt: 1, endedAt: 15 }, false],
    [{ result: 500, code: "DATABASE", usesDatabase: false }, false],
    [{ result: 500, code: "CONFIGURATION" }, false],
    [{ result: 401, code: "UNAUTHORIZED" }, false],
    [{ result: "ECONNRESET" }, false],
  ];
  for (const [fields, allowed] of cases) {
    const outcomes = new Outcomes([down]);
    assertEquals(outcomes.add(outcome(fields)), false);
    assertEquals(
      [outcomes.duringOutage, outcomes.faults.size],
      allowed ? [1, 0] : [0, 1],
      JSON.stringify(fields),
    );
  }
  const outcomes = new Outcomes([down]);
  assertEquals(outcomes.add(outcome({})), true);
  assertEquals([outcomes.total, outcomes.faults.size, outcomes.rows()[0].results.get(200)], [
    1,
    0,
    1,
  ]);
});

Deno.test("Outcomes.add() takes an outage that lasts for one without an end", () => {
  const outcomes = new Outcomes([{ from: 15 }]);
  outcomes.add(outcome({ result: 500, code: "DATABASE", startedAt: 1e9, endedAt: 1e9 }));
  assertEquals([outcomes.duringOutage, outcomes.faults.size], [1, 0]);
});

const note = (id: string, title: string) => ({
  ...{ id, title, body: getBody(title), search: `${title} ${getBody(title)}`.toLowerCase() },
});
const rows = (fields: Partial<StoredRows>): StoredRows => ({
  ...{ notes: [], deliveries: [], emails: [], halfUsers: 0 },
  ...fields,
});

Deno.test("Ledger.compare() finds nothing where every write that was acknowledged is there", () => {
  const ledger = new Ledger();
  for (const id of ["a", "b", "c", "d"]) ledger.created(id, `T ${id}`);
  ledger.changed("a", "T changed");
  ledger.perhapsChanged("b", "T perhaps");
  ledger.deleted("c");
  ledger.perhapsDeleted("d");
  ledger.perhapsCreated("T unknown");
  ledger.delivered("x");
  ledger.signedUp("u@example.com");
  const kept = { deliveries: ["x"], emails: ["u@example.com"] };
  for (
    const notes of [
      [note("a", "T changed"), note("b", "T b")],
      [note("a", "T changed"), note("b", "T perhaps"), note("d", "T d"), note("e", "T unknown")],
    ]
  ) assertEquals(ledger.compare(rows({ ...kept, notes })), []);
});

Deno.test("Ledger.compare() names what is lost, doubled, revived, foreign or half written", () => {
  const cases: [(ledger: Ledger) => void, Partial<StoredRows>, string][] = [
    [(l) => l.created("a", "T"), {}, "1 acknowledged notes that are lost"],
    [(l) => l.delivered("x"), {}, "1 acknowledged deliveries that are lost"],
    [(l) => l.signedUp("u"), {}, "1 acknowledged users that are lost"],
    [() => {}, { halfUsers: 2 }, "2 users without an account"],
    [
      () => {},
      { notes: [note("a", "T")] },
      "1 notes that nobody wrote like this, or that were written twice",
    ],
    [
      (l) => l.perhapsCreated("T"),
      { notes: [note("a", "T"), note("b", "T")] },
      "1 notes that nobody wrote like this, or that were written twice",
    ],
    [
      (l) => (l.created("a", "old"), l.changed("a", "new")),
      { notes: [note("a", "old")] },
      "1 notes that nobody wrote like this, or that were written twice",
    ],
    [
      (l) => (l.created("a", "T"), l.deleted("a")),
      { notes: [note("a", "T")] },
      "1 notes that came back after they were deleted",
    ],
    [
      (l) => l.created("a", "T"),
      { notes: [{ ...note("a", "T"), body: "T" }] },
      "1 notes of which a part is written",
    ],
  ];
  for (const [write, stored, expected] of cases) {
    const ledger = new Ledger();
    write(ledger);
    assertEquals(ledger.compare(rows(stored)), [expected]);
  }
});

Deno.test("fitLine() and percentile() give the figures of small examples", () => {
  assertEquals(fitLine([[0, 1], [1, 3], [2, 5]]), { slope: 2, intercept: 1 });
  assertAlmostEquals(fitLine([[0, 1], [1, 1.1], [2, 0.9]]).slope, -0.05, 1e-12);
  assertEquals([fitLine([]), fitLine([[3, 4]])], [{ slope: 0, intercept: 0 }, {
    slope: 0,
    intercept: 4,
  }]);
  const sorted = Array.from({ length: 100 }, (_, i) => i + 1);
  assertEquals([0.5, 0.9, 0.99, 1].map((share) => percentile(sorted, share)), [50, 90, 99, 100]);
  assertEquals(percentile([], 0.5), 0);
});

/** Samples of 2,000 requests each, whose heap grows by so many MB for each 100,000 requests after a warm-up. */
function getSamples(growth: number): LoadSample[] {
  return Array.from({ length: 100 }, (_, i) => ({
    seconds: i,
    requests: i * 2000,
    rss: 200e6,
    descriptors: { sockets: 10, others: 20 },
    heapUsed: i < 30 ? 90e6 - i * 1e6 : 30e6 + (growth * 1e6 * i) / 50,
  }));
}

const getReport = (fields: Partial<LoadReport>): LoadReport => ({
  options: { database: "embedded", seconds: 100, seed: 1 },
  ...{
    seconds: 100,
    outcomes: new Outcomes(),
    samples: getSamples(0),
    downTimes: [],
    rejections: 0,
    exitCode: 0,
  },
  ...{ logLevels: new Map(), complaints: new Map(), differences: [], acknowledged: 0, unsure: 0 },
  descriptors: { before: { sockets: 8, others: 20 }, after: { sockets: 8, others: 20 } },
  ...fields,
});

Deno.test("getGrowth() leaves the warm-up out", () => {
  assertAlmostEquals(getGrowth(getSamples(3)).heapUsed, 3, 1e-9);
  assertEquals(getGrowth(getSamples(3)).requests, 138_000);
  assertEquals(getGrowth(getSamples(3).slice(0, 30)).requests, 0);
});

Deno.test("judge() names each reason for which a run fails", () => {
  assertEquals(judge(getReport({})), []);
  const left = (sockets: number, others: number) => ({
    descriptors: { before: { sockets: 8, others: 20 }, after: { sockets, others } },
  });
  const cases: [Partial<LoadReport>, string][] = [
    [{ samples: getSamples(50) }, "the heap grew by 50.00 MB for each 100,000 requests"],
    [
      { samples: getSamples(0).map((sample, i) => ({ ...sample, rss: 200e6 + i * 2e6 })) },
      "resident memory went from",
    ],
    [left(20, 20), "20 sockets are open, 8 were at the start"],
    [left(8, 40), "40 files are open, 20 were after the warm-up"],
    [{ rejections: 1 }, "1 rejections that nobody handled"],
    [{ exitCode: 70 }, "the application ended with exit code 70"],
    [{ differences: ["1 acknowledged notes that are lost"] }, "1 acknowledged notes that are lost"],
  ];
  for (const [fields, reason] of cases) {
    const reasons = judge(getReport(fields));
    assertEquals([reasons.length, reasons[0].startsWith(reason)], [1, true], reason);
  }
  const outcomes = new Outcomes();
  outcomes.add(outcome({ result: 500, code: "DATABASE" }));
  assertEquals(judge(getReport({ outcomes })), ["1 × get: 500 DATABASE"]);
});
