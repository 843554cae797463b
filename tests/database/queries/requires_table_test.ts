import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import {
  createQueryFactory,
  DatabaseOperation,
  getTablePermissions,
  RequiresTable,
} from "../../../database/mod.ts";
import { ConfigurationError } from "../../../errors/mod.ts";

const { Select, Insert, Update } = DatabaseOperation;

Deno.test("getTablePermissions() merges what standard decorators declared, by table", () => {
  class Queries {
    @RequiresTable([{ table: "notes", operations: [Select] }])
    static find(id: string): string {
      return id;
    }
    @RequiresTable([{ table: "notes", operations: [Select, Insert] }, {
      table: "tags",
      operations: [Update],
    }])
    static async add(): Promise<void> {}
    @RequiresTable([{ table: "users", operations: [Select] }])
    own(): void {}
  }
  class More extends Queries {
    @RequiresTable([{ table: "notes", operations: [Update] }])
    static change(): void {}
  }
  assertEquals(getTablePermissions(Queries), [
    { table: "notes", operations: [Select, Insert] },
    { table: "tags", operations: [Update] },
    { table: "users", operations: [Select] },
  ]);
  assertEquals(getTablePermissions(More)[0], {
    table: "notes",
    operations: [Select, Insert, Update],
  });
  assertEquals(Queries.find("n1"), "n1");
  assertEquals(getTablePermissions(class {}), []);
});

Deno.test("RequiresTable() and queries take the names of operations instead of the enum", () => {
  class Queries {
    @RequiresTable([{ table: "notes", operations: ["SELECT", Insert] }])
    static find(): void {}
  }
  assertEquals(getTablePermissions(Queries), [{ table: "notes", operations: [Select, Insert] }]);
  const { defineQuery } = createQueryFactory(() => Promise.reject(new Error("not called")));
  const query = defineQuery(
    { tables: [{ table: "notes", operations: ["SELECT"] }] },
    async function find() {},
  );
  assertEquals(query.tables, [{ table: "notes", operations: [Select] }]);
  // @ts-expect-error: DROP is no operation
  assertThrows(() => RequiresTable([{ table: "notes", operations: ["DROP"] }]), ConfigurationError);
});

Deno.test("RequiresTable() works as an experimental decorator", () => {
  // what `experimentalDecorators` compiles to
  class Queries {
    static find(): void {}
    own(): void {}
  }
  const permissions = [{ table: "notes", operations: [Select] }];
  RequiresTable(permissions)(Queries, "find", Object.getOwnPropertyDescriptor(Queries, "find")!);
  RequiresTable([{ table: "tags", operations: [Insert] }])(
    Queries.prototype,
    "own",
    Object.getOwnPropertyDescriptor(Queries.prototype, "own")!,
  );
  assertEquals(getTablePermissions(Queries), [...permissions, {
    table: "tags",
    operations: [Insert],
  }]);
});

Deno.test("getTablePermissions() gives a copy", () => {
  class Queries {
    @RequiresTable([{ table: "notes", operations: [Select] }])
    static find(): void {}
  }
  getTablePermissions(Queries)[0].operations.push(Insert);
  assertEquals(getTablePermissions(Queries), [{ table: "notes", operations: [Select] }]);
});

Deno.test("RequiresTable() refuses a declaration that is none", () => {
  const wrong: [unknown, string][] = [
    [[{ table: "", operations: [Select] }], "name"],
    [[{ table: "notes", operations: [] }], "notes"],
    [[{ table: "notes", operations: ["select"] }], '"select"'],
    [undefined, "list"],
  ];
  for (const [permissions, part] of wrong) {
    const error = assertThrows(() => RequiresTable(permissions as never), ConfigurationError);
    assertStringIncludes(error.message, part);
  }
});
