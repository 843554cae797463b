import { handler, testGrants } from "../fixtures/analyse.ts";

const QUERIES = `
  import { DatabaseOperation, RequiresTable } from "@trellis/fn/database";
  import { getTableName } from "drizzle-orm";
  import { c } from "./schema.ts";
  export class NoteQueries {
    @RequiresTable([{ table: "a", operations: [DatabaseOperation.Select] }])
    static list(): unknown { return 1; }
    @RequiresTable([{ table: "b", operations: [DatabaseOperation.Insert, DatabaseOperation.Update] }])
    static add(): unknown { return this.list(); }
    @RequiresTable([{ table: getTableName(c), operations: [DatabaseOperation.All] }])
    static drop(): unknown { return 1; }
    @RequiresTable([{ table: "own", operations: [DatabaseOperation.Select] }])
    find(): unknown { return NoteQueries.list(); }
  }`;

testGrants([
  ["grants of a class the static method that is used", "a SELECT", {
    "notes.ts": QUERIES,
    "fn.ts": handler(`import { NoteQueries } from "./notes.ts";`, "return NoteQueries.list();"),
  }],
  ["grants what a static method calls through this", "a SELECT, b INSERT+UPDATE", {
    "notes.ts": QUERIES,
    "fn.ts": handler(`import { NoteQueries } from "./notes.ts";`, "return NoteQueries.add();"),
  }],
  [
    "follows a static method that is bound (looser: kept in the bundle)",
    "a SELECT, b INSERT+UPDATE, c SELECT+INSERT+UPDATE+DELETE, own SELECT",
    {
      "notes.ts": QUERIES,
      "bound.ts":
        `import { NoteQueries } from "./notes.ts"; import { withQueryMetrics } from "@trellis/fn/database";
      const run = NoteQueries.drop.bind(NoteQueries);
      export const drop = () => withQueryMetrics("drop", run); export const list = NoteQueries.list.bind(NoteQueries);`,
      "fn.ts": handler(`import { drop } from "./bound.ts";`, "return drop();"),
    },
  ],
  ["grants of an instance the method that is used", "a SELECT, own SELECT", {
    "notes.ts": QUERIES,
    "fn.ts": handler(
      `import { NoteQueries } from "./notes.ts"; const notes = new NoteQueries();`,
      "return notes.find();",
    ),
  }],
  [
    "grants nothing for a class whose permissions are only read (looser: kept in the bundle)",
    "a SELECT",
    {
      "notes.ts": QUERIES,
      "fn.ts": handler(
        `import { NoteQueries } from "./notes.ts"; import { getTablePermissions } from "@trellis/fn/database";`,
        "return getTablePermissions(NoteQueries);",
      ),
    },
  ],
  [
    "grants all of a class that is handed on",
    "a SELECT, b INSERT+UPDATE, c SELECT+INSERT+UPDATE+DELETE, own SELECT",
    {
      "notes.ts": QUERIES,
      "fn.ts": handler(
        `import { NoteQueries } from "./notes.ts"; import { run } from "elsewhere";`,
        "return run(NoteQueries);",
      ),
    },
  ],
  [
    "follows what a constructor keeps, also as a parameter property (looser: kept in the bundle)",
    "a SELECT, b INSERT, c DELETE",
    {
      "service.ts": `
      interface Repo { read(): unknown; add(): unknown; drop(): unknown }
      export class Service {
        #unused = 1; other: any;
        constructor(private readonly repo: Repo, other: any) { this.other = other; }
        all() { return this.repo.read(); }
        more() { return this.other.add(); }
        never() { return this.repo.drop(); }
      }`,
      "fn.ts": handler(
        `import { Service } from "./service.ts"; import * as q from "./queries.ts";
       const repo = { read: q.readA, add: q.addB, drop: q.dropC };
       const service = new Service(repo, repo);`,
        "service.all(); service.more();",
      ),
    },
  ],
  [
    "follows inherited methods, super and methods of a subclass (looser: kept in the bundle)",
    "a SELECT, b INSERT, c DELETE",
    {
      "base.ts": `import { dropC } from "./queries.ts";
      export abstract class Base { run() { return this.work(); } abstract work(): unknown; help(): unknown { return 1; } other() { return dropC(); } }`,
      "fn.ts": handler(
        `import { Base } from "./base.ts"; import { addB, readA } from "./queries.ts";
       class Middle extends Base { work(): unknown { return readA(); } }
       class Job extends Middle { override work() { super.work(); return addB("1"); } }`,
        "return new Job().run();",
      ),
    },
  ],
  ["follows getters, static properties and static blocks", "a SELECT, b INSERT, c DELETE", {
    "k.ts": `import { addB, dropC, readA } from "./queries.ts";
      export class K { static { addB("1"); } static read = readA; get all() { return dropC; } unused() { return readA(); } }`,
    "fn.ts": handler(`import { K } from "./k.ts";`, "K.read(); new K().all();"),
  }],
  ["grants nothing for a class that is not used (looser: kept in the bundle)", "a SELECT", {
    "notes.ts": QUERIES,
    "fn.ts": handler(
      `import { NoteQueries } from "./notes.ts"; class Own extends NoteQueries {}`,
      "return 1;",
    ),
  }],
]);
