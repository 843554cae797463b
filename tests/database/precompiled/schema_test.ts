import { assertNotStrictEquals, assertStrictEquals } from "@std/assert";
import { definePrecompiledSchema } from "../../../database/precompiled/schema.ts";

Deno.test("definePrecompiledSchema() returns one object for a key, by which clients are shared", () => {
  const schema = definePrecompiledSchema("first");
  assertStrictEquals(definePrecompiledSchema("first"), schema);
  assertNotStrictEquals(definePrecompiledSchema("second"), schema);
});
