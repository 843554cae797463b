import type { PlainTable } from "./render_options.ts";
import { RUNTIME } from "./specifiers.ts";

/** Renders the module of a table without its builders. */
export function renderTable({ name, columns, schema }: PlainTable): string {
  const parameters = [name, columns, ...schema === undefined ? [] : [schema]];
  return `import { definePrecompiledTable } from ${JSON.stringify(`${RUNTIME}table`)};
export const table = /* @__PURE__ */ definePrecompiledTable(${
    parameters.map((each) => JSON.stringify(each)).join(", ")
  });
`;
}

/** Renders the module of a schema, whose tables are in the second file. */
export function renderSchema(key: string): string {
  return `import { definePrecompiledSchema } from ${JSON.stringify(`${RUNTIME}schema`)};
export const schema = /* @__PURE__ */ definePrecompiledSchema(${JSON.stringify(key)});
`;
}
