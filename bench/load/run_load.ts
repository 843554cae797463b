import { breakConnections } from "./broken_connections.ts";
import { type Descriptors, type NotesChild, startNotesChild } from "./child_process.ts";
import { sendHostileRequests } from "./hostile_traffic.ts";
import { getJson, HttpClient } from "./http_client.ts";
import { Ledger } from "./ledger.ts";
import { type DownTime, Outcomes } from "./outcomes.ts";
import { type RestartablePostgres, startRestartablePostgres } from "./restartable_postgres.ts";
import { readStoredRows } from "./stored_rows.ts";
import { createRandom } from "../../tests/support/random.ts";
import { JSON_HEADERS, type Run } from "./traffic.ts";
import { ValidClient } from "./valid_traffic.ts";

/** What to do to the example. */
export interface LoadOptions {
  /** PGlite in the application's process, or a PostgreSQL server. */
  readonly database: "embedded" | "postgres";
  readonly seconds: number;
  /** Seconds from one restart of the server to the next; the server goes down as it should and as in a crash, in turns. */
  readonly restartEvery?: number;
  /**
   * How long it stays down, in milliseconds.
   * @default 1000
   */
  readonly downMs?: number;
  /**
   * Users that send one request after the other; half as many send bad requests, a quarter break connections.
   * @default 8
   */
  readonly clients?: number;
  /**
   * Requests a second of all clients together.
   * @default as many as are answered
   */
  readonly rate?: number;
  readonly seed: number;
  /** Receives progress messages. */
  readonly progress?: (line: string) => void;
}

/** What the application used at a moment. */
export interface LoadSample {
  readonly seconds: number;
  readonly requests: number;
  readonly rss: number;
  readonly descriptors: Descriptors;
  /** After a collection of garbage; not in every sample. */
  readonly heapUsed?: number;
}

/** What a run found. */
export interface LoadReport {
  readonly options: LoadOptions;
  readonly seconds: number;
  readonly outcomes: Outcomes;
  readonly samples: readonly LoadSample[];
  readonly descriptors: { readonly before: Descriptors; readonly after: Descriptors };
  readonly downTimes: readonly DownTime[];
  readonly rejections: number;
  readonly exitCode: number;
  readonly logLevels: ReadonlyMap<string, number>;
  readonly complaints: ReadonlyMap<string, number>;
  /** Differences between what was acknowledged and what is stored. */
  readonly differences: readonly string[];
  readonly acknowledged: number;
  readonly unsure: number;
}

/** Collecting garbage stops the application, so not every sample does. */
const HEAP_EVERY_SECONDS = 5;

/**
 * Starts the example in a separate process, sends it valid and invalid requests, and checks the results.
 *
 * @param options How long, how much, on which database.
 */
export async function runLoad(options: LoadOptions): Promise<LoadReport> {
  const { database, seed, clients = 8, restartEvery, progress = () => {} } = options;
  if (restartEvery !== undefined && database !== "postgres") {
    throw new Error(
      "An embedded database lives in the application's process: restarts need the database postgres",
    );
  }
  const folder = await Deno.makeTempDir({ prefix: "trellis-load-" });
  let server: RestartablePostgres | undefined, child: NotesChild | undefined;
  try {
    server = database === "postgres" ? await startRestartablePostgres() : undefined;
    child = await startNotesChild(
      folder,
      server === undefined ? {} : { DATABASE_PROVIDER: "serverless-pg", DATABASE_URL: server.url },
    );
    const { port, secrets } = child;
    const downTimes: DownTime[] = [], outcomes = new Outcomes(downTimes), ledger = new Ledger();
    const hostileToken = await signUp(port, "hostile@example.com");
    await child.sample();
    const before = child.descriptors();
    const startedAt = performance.now();
    const secondsSoFar = (): number => (performance.now() - startedAt) / 1000;
    let hasEnded = false;
    const isOn = (): boolean => !hasEnded && secondsSoFar() < options.seconds;
    const run: Run = {
      port,
      secrets,
      outcomes,
      ledger,
      random: createRandom(seed).next,
      isOn,
      pace: pacer(options.rate),
    };

    const users: ValidClient[] = [];
    for (let i = 0; i < clients; i++) {
      users.push(new ValidClient(run, `user-${i}`, () => users[(i + 1) % clients].anyNote));
    }
    const samples: LoadSample[] = [];
    const work = [
      ...users.map((user) => user.work()),
      ...Array.from(
        { length: Math.ceil(clients / 2) },
        () => sendHostileRequests(run, () => hostileToken),
      ),
      ...Array.from(
        { length: Math.ceil(clients / 4) },
        () => breakConnections(run, () => hostileToken),
      ),
      takeSamples(child, run, secondsSoFar, samples, progress),
    ];
    if (server !== undefined && restartEvery !== undefined) {
      work.push(restartNowAndThen(server, restartEvery, options, secondsSoFar, downTimes));
    }
    const { ended, complaints } = child;
    await Promise.race([
      Promise.all(work),
      ended.then((code) => {
        hasEnded = true;
        throw new Error(
          `The application ended under load with exit code ${code}: ${
            [...complaints.keys()].slice(-20).join("\n")
          }`,
        );
      }),
    ]);
    const seconds = secondsSoFar();

    progress("the traffic has ended: looking at what is left");
    // connections that were broken off are noticed a little later
    await new Promise((resolve) => setTimeout(resolve, 2000));
    const { rejections } = await child.sample();
    const after = child.descriptors();
    const { logLevels } = child;
    const exitCode = await child.stop();
    child = undefined;
    const differences = ledger.compare(
      await readStoredRows(
        server === undefined
          ? { provider: "embedded-pg", connectionString: `${folder}/pg`, instrument: false }
          : { provider: "serverless-pg", connectionString: server.url, instrument: false },
      ),
    );
    const { acknowledged, unsure } = ledger;
    return {
      ...{
        options,
        seconds,
        outcomes,
        samples,
        downTimes,
        rejections,
        exitCode,
        logLevels,
        complaints,
        differences,
      },
      ...{ descriptors: { before, after }, acknowledged, unsure },
    };
  } finally {
    await child?.stop();
    await server?.stop();
    await Deno.remove(folder, { recursive: true });
  }
}

async function signUp(port: number, email: string): Promise<string> {
  const client = new HttpClient(port);
  const body = JSON.stringify({ name: "Hostile", email, password: "hostile-password" });
  const reply = await client.send({
    method: "POST",
    path: "/auth/sign-up/email",
    headers: JSON_HEADERS,
    body,
  });
  client.close();
  if (reply.status !== 200) {
    throw new Error(`The first sign-up was answered ${reply.status}: ${reply.text}`);
  }
  return String(getJson(reply).token);
}

/** Spreads requests over time: each waits for its turn. */
function pacer(rate: number | undefined): () => Promise<void> {
  let next = performance.now();
  return async function pace(): Promise<void> {
    if (rate === undefined) return;
    const now = performance.now();
    next = Math.max(next + 1000 / rate, now);
    if (next > now) await new Promise((resolve) => setTimeout(resolve, next - now));
  };
}

async function takeSamples(
  child: NotesChild,
  run: Run,
  secondsSoFar: () => number,
  samples: LoadSample[],
  progress: (line: string) => void,
): Promise<void> {
  for (let second = 1; run.isOn(); second++) {
    await new Promise((resolve) =>
      setTimeout(resolve, Math.max(0, (second - secondsSoFar()) * 1000))
    );
    const heapUsed = second % HEAP_EVERY_SECONDS === 0
      ? (await child.sample()).heapUsed
      : undefined;
    const [seconds, requests, rss, descriptors] = [
      secondsSoFar(),
      run.outcomes.total,
      await child.rss(),
      child.descriptors(),
    ];
    samples.push({ seconds, requests, rss, descriptors, heapUsed });
    if (second % 30 === 0) {
      const megabytes = (bytes: number) => `${(bytes / 1e6).toFixed(1)} MB`;
      progress(
        `${Math.round(seconds)} s: ${requests} requests, heap ${
          megabytes(heapUsed ?? 0)
        }, resident ${megabytes(rss)}, ` +
          `${descriptors.sockets} sockets, ${descriptors.others} files, ${
            [...run.outcomes.faults.values()].reduce((a, b) => a + b, 0)
          } faults`,
      );
    }
  }
}

async function restartNowAndThen(
  server: RestartablePostgres,
  everySeconds: number,
  { seconds, downMs = 1000 }: LoadOptions,
  secondsSoFar: () => number,
  downTimes: DownTime[],
): Promise<void> {
  for (let i = 1; i * everySeconds < seconds - downMs / 1000 - 1; i++) {
    await new Promise((resolve) =>
      setTimeout(resolve, Math.max(0, i * everySeconds - secondsSoFar()) * 1000)
    );
    const downTime: DownTime = { from: performance.now() };
    downTimes.push(downTime);
    await server.restart(i % 2 === 1 ? "fast" : "immediate", downMs);
    downTime.until = performance.now();
  }
}
