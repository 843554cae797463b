import { assertEquals } from "@std/assert";
import { getFieldName, toFieldErrors } from "../../../core/http/field_errors.ts";

Deno.test("getFieldName() joins keys of both forms, and names the whole input _form", () => {
  assertEquals(getFieldName(["items", 0, { key: "sku" }]), "items.0.sku");
  assertEquals([getFieldName([]), getFieldName(undefined)], ["_form", "_form"]);
});

Deno.test("toFieldErrors() groups messages, also of fields with names of Object.prototype", () => {
  const issues = ["title", "title", "__proto__", "constructor"].map((key, i) => ({
    path: [key],
    message: `m${i}`,
  }));
  const errors = toFieldErrors([...issues, { message: "whole" }]);
  assertEquals(Object.entries(errors), [
    ["title", ["m0", "m1"]],
    ["__proto__", ["m2"]],
    ["constructor", ["m3"]],
    ["_form", ["whole"]],
  ]);
});
