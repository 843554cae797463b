import { assertEquals, assertStrictEquals } from "@std/assert";
import { causeChain } from "../../errors/cause_chain.ts";
import { findInCauseChain } from "../../errors/mod.ts";

Deno.test("causeChain() lists an error and its causes, nearest first", () => {
  const inner = new Error("inner");
  const middle = { message: "no Error", cause: inner };
  const outer = new Error("outer", { cause: middle });
  assertEquals(causeChain(outer), [outer, middle, inner]);
});

Deno.test("causeChain() gives one link for a value that has no cause", () => {
  for (
    const value of [undefined, null, "text", 7, Symbol.iterator, new Error("x", { cause: null })]
  ) {
    assertEquals(causeChain(value), [value]);
  }
});

Deno.test("causeChain() keeps a cause that is no object", () => {
  assertEquals(causeChain({ cause: "why" }).at(-1), "why");
});

Deno.test("causeChain() ends where the chain leads back to itself", () => {
  const a: { cause?: unknown } = {}, b = { cause: a };
  a.cause = b;
  assertEquals(causeChain(a), [a, b]);
});

Deno.test("causeChain() goes into the parts of an AggregateError, and into nothing else called errors", () => {
  const first = new Error("1"), second = new Error("2"), cause = new Error("cause");
  const all = new AggregateError([first, second], "all", { cause });
  assertEquals(causeChain(all), [all, cause, first, second]);
  const plain = { errors: [first] };
  assertEquals(causeChain(plain), [plain]);
});

Deno.test("causeChain() stops after 32 links", () => {
  let error = new Error("last");
  for (let i = 0; i < 100; i++) error = new Error(String(i), { cause: error });
  assertEquals(causeChain(error).length, 32);
  assertEquals(
    causeChain(new AggregateError(Array.from({ length: 100 }, (_, i) => new Error(String(i)))))
      .length,
    32,
  );
});

Deno.test("causeChain() passes over a link that cannot be read", () => {
  const hostile = new Proxy({}, {
    get(): never {
      throw new Error("no");
    },
    getPrototypeOf(): never {
      throw new Error("no");
    },
  });
  assertEquals(causeChain(hostile).length, 1);
  assertEquals(causeChain(new Error("outer", { cause: hostile })).length, 2);
});

Deno.test("findInCauseChain() gives the first link that fits", () => {
  const inner = { code: "40001" };
  const error = new Error("outer", { cause: new Error("middle", { cause: inner }) });
  assertStrictEquals(
    findInCauseChain(error, (link) => (link as typeof inner).code === "40001"),
    inner,
  );
  assertStrictEquals(findInCauseChain(error, () => false), undefined);
});
