import { assertEquals } from "@std/assert";
import { readDocFaults } from "../../scripts/api_docs.ts";

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
    complaint("/project/validation/z.ts", "export type ZodString = all.ZodString;"),
    complaint("/cache/drizzle-orm/sql.d.ts", "export declare function sql(): void;"),
    complaint("/project/core/d.ts", "readonly d: Hidden;", "private-type-ref"),
  ].join("\n");
  assertEquals(readDocFaults(text, "/project/"), [
    { file: "errors/a.ts", line: 7, code: "readonly secret: string;" },
    { file: "core/b.ts", line: 7, code: "export function c(text: string): boolean {" },
  ]);
});
