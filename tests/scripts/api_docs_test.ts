import { assertEquals } from "@std/assert";
import { readDocFaults, readPrivateTypes } from "../../scripts/api_docs.ts";

function complaint(path: string, code: string, kind = "missing-jsdoc"): string {
  return `error[${kind}]: exported symbol is missing JSDoc documentation
  --> ${path}:7:3
   | 
 7 |   ${code}
   |   ^
`;
}

Deno.test("readDocFaults() gives symbols of the project that have no doc comment", () => {
  const text = [
    complaint("/project/errors/a.ts", "readonly secret: string;"),
    complaint("/project/errors/a.ts", 'override readonly name: string = "A";'),
    complaint("/project/errors/a.ts", "constructor(message: string) {"),
    complaint("/project/core/b.ts", "export function b(text: string): boolean;"),
    complaint("/project/core/b.ts", "export function c(text: string): boolean {"),
    complaint("/cache/drizzle-orm/sql.d.ts", "export declare function sql(): void;"),
    complaint("/project/core/d.ts", "readonly d: Hidden;", "private-type-ref"),
  ].join("\n");
  assertEquals(readDocFaults(text, "/project/"), [
    { file: "errors/a.ts", line: 7, code: "readonly secret: string;" },
    { file: "core/b.ts", line: 7, code: "export function c(text: string): boolean {" },
  ]);
});

function privateType(path: string, type: string, declaration: string): string {
  return `error[private-type-ref]: public type 'show' references private type '${type}'
  --> ${path}:22:1
   |
22 | export function show(): ${type} {
   | ^
   = hint: make the referenced type public or remove the reference
   |
 6 | ${declaration}
   | - this is the referenced type
   |

  info: to ensure documentation is complete all types that are exposed in the public API must be public
`;
}

Deno.test("readPrivateTypes() gives private types of the project, and none of packages", () => {
  const text = [
    privateType("/project/core/a.ts", "Hidden", "interface Hidden {"),
    privateType("/project/database/b.ts", "SQL", "export declare class SQL<T = unknown> {"),
    privateType("/project/auth/tables/columns.ts", "Text", "interface Hidden {"),
    privateType("/cache/drizzle-orm/sql.d.ts", "Hidden", "interface Hidden {"),
  ].join("\n\n");
  assertEquals(readPrivateTypes(text, "/project/", new Set(["interface Hidden {"])), [
    { file: "core/a.ts", line: 22, symbol: "show", type: "Hidden" },
  ]);
});
