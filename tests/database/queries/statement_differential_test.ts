/**
 * Compares generated statements with drizzle, built anew for each call: the same text, parameters and
 * rows, or a refusal. `TRELLIS_FULL_TESTS=1` compares 10,000 instead of 300.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { assert, assertEquals } from "@std/assert";
import { between, exists, gt, inArray, isNull, like, ne, notInArray, type SQL } from "drizzle-orm";
import {
  boolean,
  doublePrecision,
  integer,
  jsonb,
  numeric,
  type PgColumn,
  pgTable,
  text,
  timestamp,
  uuid,
} from "drizzle-orm/pg-core";
import { createQueryFactory } from "../../../database/mod.ts";
import { and, asc, desc, eq, or, sql } from "../../../database/orm.ts";
import { createSessionClient } from "../../../database/session/client.ts";
import { ConnectionSlots } from "../../../database/session/connection_slots.ts";
import type { Statement } from "../../../database/session/driver.ts";
import { ConfigurationError } from "../../../errors/mod.ts";
import { setLogOutput } from "../../../observability/mod.ts";
import { createRandom } from "../../support/random.ts";

const COUNT = Deno.env.get("TRELLIS_FULL_TESTS") === "1" ? 10_000 : 300;
const SEED = 20261124;

/** Context of the request that runs. */
const tenants = new AsyncLocalStorage<string | undefined>();
/** Number of the call that runs, which the functions of columns return. */
let call = 0;
const notes = pgTable("notes", {
  id: integer("id").primaryKey(),
  title: text("title"),
  at: timestamp("at", { withTimezone: true }),
  isDone: boolean("is_done"),
  tags: text("tags").array(),
  data: jsonb("data"),
  price: numeric("price"),
  score: doublePrecision("score"),
  token: uuid("token").$defaultFn(() => `token of ${call}`),
  changed: timestamp("changed").$onUpdateFn(() => new Date(1_000_000 * call)),
  version: integer("version").$defaultFn(() => call).$onUpdateFn(() => -call),
});
const labels = pgTable("labels", { noteId: integer("note_id"), name: text("name") });

// deno-lint-ignore no-explicit-any -- generated builders use any method with any value
type Any = any;
type Builder = (db: Any, p: Any) => Any;
type Choose = <T>(choices: readonly T[]) => T;

/** Values of each kind; a parameter's name begins with its kind. */
const VALUES: Record<string, readonly unknown[]> = {
  s: ["ada", "bob", "", "50%", 'a"b\\', null],
  n: [1, 2, 7, 40],
  b: [true, false],
  d: [new Date("2026-01-02T03:04:05.678Z"), new Date(0), null],
  t: [["a", 'b"c'], ["x"], null],
  j: [{ id: "x" }, { list: [1, null] }, null],
};

/** Columns by the kind of their values. */
const COLUMNS: readonly (readonly [kind: string, column: PgColumn, key: string])[] = [
  ["s", notes.title, "title"],
  ["n", notes.id, "id"],
  ["n", notes.score, "score"],
  ["n", notes.price, "price"],
  ["b", notes.isDone, "isDone"],
  ["d", notes.at, "at"],
  ["t", notes.tags, "tags"],
  ["j", notes.data, "data"],
  ["n", notes.version, "version"],
];

/** Generates one statement. */
class Generator {
  readonly #random: () => number;
  readonly names: Set<string> = new Set();
  /** True once the builder ran a part in which a value, the clock or chance decides. */
  decides = false;

  constructor(random: () => number) {
    this.#random = random;
  }

  choose: Choose = (choices) => choices[Math.floor(this.#random() * choices.length)];

  chance(part: number): boolean {
    return this.#random() < part;
  }

  name(kind: string): string {
    const name = `${kind}${Math.floor(this.#random() * 1000)}`;
    this.names.add(name);
    return name;
  }

  /** Marks a part in which something decides. */
  deciding<T>(build: (p: Any) => T): (p: Any) => T {
    return (p) => {
      this.decides = true;
      return build(p);
    };
  }

  /** A value for a place that takes a kind: mostly a parameter or a constant. */
  value(kind: string): (p: Any) => unknown {
    const constant = this.choose(VALUES[kind]);
    if (this.chance(0.3)) return () => constant;
    const name = this.name(kind);
    if (!this.chance(0.06)) return (p) => p[name];
    const other = this.choose(VALUES[kind]);
    const forms: ((p: Any) => unknown)[] = [
      (p) => p[name] ?? other,
      (p) => p[name] && constant,
      (p) => p[name] === null ? null : constant,
      () => tenants.getStore() ?? constant,
      (p) => sql.raw(p[name]),
      (p) => sql`${sql.identifier(p[name])}`,
      (p) => [...p[name]],
      (p) => structuredClone(p[name]),
      (p) => p[name] ? constant : other,
      (p) => p[name] === constant ? constant : other,
      (p) => VALUES[kind].slice(0, 1).includes(p[name]) ? constant : other,
      (p) => typeof p[name] === "string" ? constant : other,
      (p) => kind === "n" ? p[name] + 1 : `%${p[name]}%`,
      (p) => kind === "d" ? new Date(p[name].getTime() + 1) : p[name].length,
      () => kind === "s" ? crypto.randomUUID() : Math.random(),
      () => kind === "d" ? new Date() : Date.now(),
      (p) => kind === "j" ? { id: p[name] } : [p[name]],
      (p) => JSON.stringify(p[name]),
      (p) => JSON.stringify(p),
      (p) => ({ ...p }),
      (p) => Object.values(p)[0],
      (p) => p[name]?.id,
    ];
    return this.deciding(this.choose(forms));
  }

  condition(depth = 0): (p: Any) => SQL | undefined {
    const [kind, column] = this.choose(COLUMNS);
    const value = this.value(kind);
    if (depth < 2 && this.chance(0.3)) {
      const parts = [this.condition(depth + 1), this.condition(depth + 1)];
      const join = this.choose([and, or]);
      return (p) => join(...parts.map((part) => part(p)));
    }
    if (this.chance(0.05)) {
      const flag = this.name("b");
      const decides = this.choose<(p: Any) => unknown>([
        (p) => p[flag],
        (p) => p[flag] === true,
        (p) => Boolean(p[flag]),
        () => tenants.getStore() === "a",
      ]);
      return this.deciding((p) => decides(p) ? eq(column, value(p) as Any) : undefined);
    }
    if (this.chance(0.04)) {
      const list = this.name("t");
      const own = this.choose([inArray, notInArray]);
      return this.deciding((p) => own(notes.title, p[list]));
    }
    const other = this.value(kind);
    const helper = (p: Any): SQL => eq(column, value(p) as Any);
    return this.choose<(p: Any) => SQL | undefined>([
      (p) => eq(column, value(p) as Any),
      (p) => ne(column, value(p) as Any),
      (p) => gt(column, value(p) as Any),
      (p) => between(column, value(p) as Any, other(p) as Any),
      (p) => inArray(column, [value(p), other(p)] as Any),
      (p) => sql`coalesce(${column}, ${other(p)}) is distinct from ${value(p)}`,
      (p) => like(notes.title, value(p) as Any),
      () => isNull(column),
      helper,
    ]);
  }

  limit(): (p: Any) => unknown {
    if (this.chance(0.3)) return () => 5;
    const name = this.name("n");
    if (!this.chance(0.05)) return (p) => p[name];
    return this.deciding(this.choose<(p: Any) => unknown>([
      (p) => p[name] + 1,
      (p) => Math.min(p[name], 3),
      (p) => p[name] > 2 ? 3 : undefined,
    ]));
  }

  /** A row; without a title if the statement sets it. */
  row(hasTitle = true): (p: Any) => object {
    if (this.chance(0.03)) {
      const name = this.name("s");
      return this.deciding((p) => ({ title: p[name], ...p }));
    }
    const cells = COLUMNS.filter(([, , key]) => this.chance(0.5) && (hasTitle || key !== "title"))
      .map(([kind, , key]) => [key, this.value(kind)] as const);
    return (p) => Object.fromEntries(cells.map(([key, value]) => [key, value(p)]));
  }

  select(): Builder {
    const where = this.condition();
    const limit = this.limit();
    const offset = this.chance(0.3) ? this.limit() : undefined;
    const shown = this.value("n");
    const order = this.choose([asc, desc]);
    const isOrdered = this.chance(0.7);
    const finish = (query: Any, p: Any): Any => {
      query = query.where(where(p));
      if (isOrdered) query = query.orderBy(order(notes.id));
      query = query.limit(limit(p));
      return offset === undefined ? query : query.offset(offset(p));
    };
    const inner = this.condition();
    return this.choose<Builder>([
      (db, p) => finish(db.select().from(notes), p),
      (db, p) => finish(db.select({ id: notes.id, n: sql`${shown(p)}` }).from(notes), p),
      (db, p) => finish(db.select().from(notes).leftJoin(labels, eq(labels.noteId, notes.id)), p),
      (db, p) =>
        finish(db.selectDistinct({ at: notes.at, data: notes.data }).from(notes), p).for("update"),
      (db, p) => {
        const few = db.$with("few").as(db.select().from(notes).where(inner(p)));
        return finish(db.with(few).select().from(notes).innerJoin(few, eq(few.id, notes.id)), p);
      },
      (db, p) =>
        db.select().from(labels).where(
          exists(db.select({ id: notes.id }).from(notes).where(inner(p))),
        ).limit(limit(p)),
      (db, p) =>
        db.select().from(notes).where(inner(p)).union(db.select().from(notes).where(where(p))),
    ]);
  }

  insert(): Builder {
    const rows = this.choose([[this.row()], [this.row(), this.row()]]);
    const conflict = this.choose(["none", "nothing", "update"]);
    const set = this.row(false);
    const value = this.value("s");
    const isReturning = this.chance(0.5);
    return (db, p) => {
      let query = db.insert(notes).values(rows.map((row) => row(p)));
      if (conflict === "nothing") query = query.onConflictDoNothing({ target: notes.id });
      if (conflict === "update") {
        query = query.onConflictDoUpdate({ target: notes.id, set: { ...set(p), title: value(p) } });
      }
      return isReturning ? query.returning() : query;
    };
  }

  update(): Builder {
    const set = this.row(false);
    const value = this.value("s");
    const where = this.condition();
    const isReturning = this.chance(0.5);
    return (db, p) => {
      const query = db.update(notes).set({ ...set(p), title: value(p) }).where(where(p));
      return isReturning ? query.returning({ id: notes.id, changed: notes.changed }) : query;
    };
  }

  /** A parameter with a name of its own, which is passed on, and perhaps compared. */
  renamed(): Builder {
    const name = this.name("s");
    const constant = this.choose(VALUES.s);
    const where = this.condition();
    if (this.chance(0.5)) {
      return this.choose<Builder>([
        (db, p) => {
          const { [name]: title } = p;
          return db.select().from(notes).where(and(eq(notes.title, title), where(p)));
        },
        (db, p) => {
          const title = p[name];
          return db.update(notes).set({ title }).where(where(p));
        },
      ]);
    }
    const decide = () => this.decides = true;
    return this.choose<Builder>([
      (db, p) => {
        const { [name]: title } = p;
        decide();
        return db.select().from(notes).where(
          title === constant ? undefined : eq(notes.title, title),
        );
      },
      (db, p) => {
        const title = p[name];
        decide();
        return db.delete(notes).where(
          [constant].includes(title) ? eq(notes.id, 1) : eq(notes.title, title),
        );
      },
      (db, { [name]: title }) => {
        decide();
        return db.select().from(notes).where(
          typeof title === "string" ? eq(notes.title, title) : ne(notes.title, title),
        );
      },
    ]);
  }

  statement(): Builder {
    if (this.chance(0.05)) return this.renamed();
    const kind = this.choose(["select", "select", "insert", "update", "delete", "raw"]);
    if (kind === "select") return this.select();
    if (kind === "insert") return this.insert();
    if (kind === "update") return this.update();
    const where = this.condition();
    if (kind === "delete") return (db, p) => db.delete(notes).where(where(p));
    const value = this.value("s");
    return (db, p) => db.execute(sql`select ${value(p)} from ${notes} where ${where(p)}`);
  }

  values(): Record<string, unknown> {
    return Object.fromEntries([...this.names].map((name) => [name, this.choose(VALUES[name[0]])]));
  }
}

/** What was sent, and what came back; an error by its kind alone. */
interface Outcome {
  readonly sent: readonly (readonly [text: string, params: readonly unknown[]])[];
  readonly rows: unknown;
}

const sent: Statement[] = [];
const client = createSessionClient(
  {
    client: undefined,
    run(statement) {
      sent.push(statement);
      const row = ["1", "7", null, "t", "{a,NULL}", '{"id": 1}', "2026-01-01 00:00:00+00"];
      const rows = [[...row, ...row, ...row], [...row, ...row, ...row].map(() => null)];
      const columns = rows[0].map((_, at) => ({ name: `c${at}`, type: 25 }));
      return Promise.resolve({ columns, rows, command: "SELECT", rowCount: 2 });
    },
    transaction: () => Promise.reject(new Error("not used")),
  },
  new ConnectionSlots(1),
  { schema: undefined },
);
const { defineStatement } = createQueryFactory(() => client);

async function observe(run: () => PromiseLike<unknown>): Promise<Outcome> {
  sent.length = 0;
  let rows: unknown;
  try {
    rows = await run();
  } catch (error) {
    if (error instanceof ConfigurationError) throw error;
    rows = "an error";
  }
  return { sent: sent.map(({ text, params }) => [text, [...params]]), rows };
}

Deno.test("defineStatement() gives what drizzle gives for each call, or refuses the statement", async () => {
  const restore = setLogOutput(() => {});
  const random = createRandom(SEED).next;
  const equal = { passing: 0, deciding: 0 };
  const refused = { passing: 0, deciding: 0 };
  for (let n = 0; n < COUNT; n++) {
    const generator = new Generator(random);
    const builder = generator.statement();
    const statement = defineStatement(`statement ${n}`, builder as never);
    const run = statement as unknown as (p: unknown) => Promise<unknown>;
    let refusal: ConfigurationError | undefined;
    for (let time = 0; time < 4 && refusal === undefined; time++) {
      const values = generator.values();
      call++;
      const tenant = generator.choose(["a", "b", undefined]);
      const expected = await observe(() =>
        tenants.run(tenant, async () => await builder(client, values))
      );
      try {
        const actual = await observe(() => tenants.run(tenant, () => run(values)));
        assertEquals(actual, expected, `seed ${SEED}, statement ${n}: ${builder}`);
      } catch (error) {
        if (!(error instanceof ConfigurationError)) throw error;
        assertEquals(time, 0, "a statement is refused by its first call");
        refusal = error;
      }
    }
    (refusal === undefined ? equal : refused)[generator.decides ? "deciding" : "passing"]++;
    if (refusal !== undefined && !generator.decides) throw refusal;
  }
  restore();
  const facts = { seed: SEED, equal, refused };
  // deno-lint-ignore no-console -- the guide has the rate of refusals
  console.log(`${COUNT} statements: ${JSON.stringify(facts)}`);
  assert(refused.deciding > COUNT / 20);
});
