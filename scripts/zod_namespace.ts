/**
 * Writes `validation/zod.ts` and `validation/z.ts`: the names that the oldest and the newest
 * supported zod share, without `locales` and `core`, as a value and as types. JSR needs explicit
 * declarations, so the types are written beside the constant.
 *
 *   deno run -A scripts/zod_namespace.ts [--check]
 */
// deno-lint-ignore-file no-console
import { fileURLToPath } from "node:url";
import ts from "typescript";
import * as newest from "zod";
import * as floor from "zod-floor";

/** `core` is large and brings `locales`; `z` and `default` are the namespace itself. */
const LEFT_OUT = ["core", "locales", "z", "default"];
const FOLDER = new URL("../validation/", import.meta.url);

// a name that only a newer zod has would break the import for everybody with an older one
const values = Object.keys(floor).filter((name) => name in newest && !LEFT_OUT.includes(name))
  .sort();

const VALUES = `/**
 * zod without \`locales\` and \`core\`. A bundler keeps the whole of a namespace that is passed on as an object, and these
 * two are 270 of its 460 KB; \`import * as z from "zod"\` in an application lets it drop what is not used (85 KB).
 * Made by scripts/zod_namespace.ts.
 * @module
 */
export {
${values.map((name) => `  ${name},`).join("\n")}
} from "zod";
export type * from "zod";
`;

const TYPES = `/**
 * \`z\` as a value with its types. Made by scripts/zod_namespace.ts.
 * @module
 */
// deno-lint-ignore-file no-explicit-any
import type * as core from "zod/v4/core";
import * as all from "./zod.ts";

/**
 * zod, without \`z.locales\` and \`z.core\`: see the guide on handlers for what it weighs.
 * \`z.infer\` and all other types are included.
 */
export const z: typeof all = all;

/** Any schema of zod, by what it gives and what it takes. */
export type ZodType<Output = unknown, Input = unknown> = all.ZodType<Output, Input>;

/** {@link ZodType} under its older name. */
export type ZodSchema<Output = unknown, Input = unknown> = all.ZodSchema<Output, Input>;

/** Types of {@link z}. */
export declare namespace z {
${typesOfZod().map((line) => `  ${line}`).join("\n")}
}
`;

function typesOfZod(): string[] {
  const entry = fileURLToPath(import.meta.resolve("zod-floor")).replace(/\.[cm]?js$/, ".d.ts");
  const program = ts.createProgram([entry], {
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    strict: true,
    skipLibCheck: true,
  });
  const checker = program.getTypeChecker();
  const module = checker.getSymbolAtLocation(program.getSourceFile(entry)!)!;
  const lines: string[] = [];
  for (const exported of checker.getExportsOfModule(module)) {
    if (LEFT_OUT.includes(exported.name)) continue;
    const symbol = exported.flags & ts.SymbolFlags.Alias
      ? checker.getAliasedSymbol(exported)
      : exported;
    const declaration = symbol.declarations?.find((
      node,
    ): node is ts.InterfaceDeclaration | ts.TypeAliasDeclaration | ts.ClassDeclaration =>
      ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node) ||
      ts.isClassDeclaration(node)
    );
    if (declaration === undefined) continue;
    const parameters = declaration.typeParameters ?? [];
    const head = parameters.length === 0
      ? ""
      : `<${parameters.map((node) => qualify(node.getText().replace(/^out /, ""))).join(", ")}>`;
    const body = parameters.length === 0
      ? ""
      : `<${parameters.map((node) => node.name.text).join(", ")}>`;
    lines.push(`export type ${exported.name}${head} = all.${exported.name}${body};`);
  }
  return lines.sort();
}

/** Names inside constraints and defaults, relative to this file. */
function qualify(text: string): string {
  return text.replace(/\butil\./g, "core.util.").replace(/(?<![\w.$])(\$Zod\w+)/g, "core.$1");
}

let stale = false;
for (const [name, text] of [["zod.ts", VALUES], ["z.ts", await format(TYPES)]]) {
  const file = new URL(name, FOLDER);
  const formatted = await format(text);
  if (!Deno.args.includes("--check")) await Deno.writeTextFile(file, formatted);
  else if (await Deno.readTextFile(file) !== formatted) {
    stale = true;
    console.error(`validation/${name} is stale: run deno run -A scripts/zod_namespace.ts`);
  }
}
if (stale) Deno.exit(1);

async function format(text: string): Promise<string> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["fmt", "--ext=ts", "--line-width=100", "-"],
    stdin: "piped",
    stdout: "piped",
  }).spawn();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(text));
  await writer.close();
  return new TextDecoder().decode((await child.output()).stdout);
}
