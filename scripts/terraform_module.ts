/**
 * Parses Terraform modules for the scripts that check and document them.
 *
 * @module
 */
import { parse } from "@cdktf/hcl2json";

/** A block or value of the HCL parser. Blocks are lists, expressions are strings in `${}`. */
export type HclValue = string | number | boolean | null | HclValue[] | { [key: string]: HclValue };

/** Attributes and nested blocks of one block. */
export type HclBlock = { [key: string]: HclValue };

/** One `variable` block. */
export interface TerraformVariable {
  readonly name: string;
  readonly description: string;
  readonly type: string;
  readonly required: boolean;
  readonly default: HclValue;
  readonly sensitive: boolean;
  readonly validations: readonly HclBlock[];
}

/** One `output` block. */
export interface TerraformOutput {
  readonly name: string;
  readonly description: string;
  readonly sensitive: boolean;
}

/** One `resource` or `data` block. */
export interface TerraformObject {
  readonly type: string;
  readonly name: string;
  readonly body: HclBlock;
}

/** Content of the `.tf` files of one folder. */
export interface TerraformModule {
  readonly name: string;
  readonly folder: string;
  /** Text of each file, by name. */
  readonly sources: ReadonlyMap<string, string>;
  readonly requiredVersion: string;
  /** Version constraint of each provider, by local name. */
  readonly providers: Readonly<Record<string, { source: string; version: string }>>;
  /** Names of `provider` blocks, which reusable modules must not have. */
  readonly providerBlocks: readonly string[];
  readonly variables: readonly TerraformVariable[];
  readonly outputs: readonly TerraformOutput[];
  readonly resources: readonly TerraformObject[];
  readonly data: readonly TerraformObject[];
}

/** The modules of the package, in reading order. */
export const MODULE_NAMES: readonly string[] = [
  "core",
  "rest-api",
  "http-api",
  "function",
  "database/distsql",
  "event-bus",
  "storage",
  "queue",
  "topic",
  "kv-table",
  "idempotency",
  "observability",
  "websocket-api",
  "cdn-api",
];

/**
 * Reads the `.tf` files of a folder.
 *
 * @param folder The module's folder.
 * @param name Name of the module. Default: the folder's name.
 */
export async function readTerraformModule(
  folder: string,
  name: string = folder,
): Promise<TerraformModule> {
  const sources = new Map<string, string>();
  for await (const entry of Deno.readDir(folder)) {
    if (entry.isFile && entry.name.endsWith(".tf")) {
      sources.set(entry.name, await Deno.readTextFile(`${folder}/${entry.name}`));
    }
  }
  return await parseTerraformModule(
    name,
    folder,
    new Map([...sources].sort(([a], [b]) => (a < b ? -1 : 1))),
  );
}

/**
 * Parses the text of a module's files.
 *
 * @param sources Text of each file, by name.
 */
export async function parseTerraformModule(
  name: string,
  folder: string,
  sources: ReadonlyMap<string, string>,
): Promise<TerraformModule> {
  const terraform: HclBlock = {};
  const providerBlocks: string[] = [];
  const variables: TerraformVariable[] = [];
  const outputs: TerraformOutput[] = [];
  const resources: TerraformObject[] = [];
  const data: TerraformObject[] = [];
  for (const [file, text] of sources) {
    const parsed = await parseHcl(file, text);
    for (const block of blocks(parsed.terraform)) Object.assign(terraform, block);
    providerBlocks.push(...Object.keys(asBlock(parsed.provider)));
    // the parser sorts names, but the documentation uses the order of the file
    for (const label of labelsInOrder(text, "variable")) variables.push(toVariable(label, parsed));
    for (const label of labelsInOrder(text, "output")) outputs.push(toOutput(label, parsed));
    resources.push(...toObjects(parsed.resource));
    data.push(...toObjects(parsed.data));
  }
  const providers: Record<string, { source: string; version: string }> = {};
  for (const block of blocks(terraform.required_providers)) {
    for (const [provider, value] of Object.entries(block)) {
      const { source, version } = asBlock(value);
      providers[provider] = { source: String(source ?? ""), version: String(version ?? "") };
    }
  }
  return {
    name,
    folder,
    sources,
    requiredVersion: String(terraform.required_version ?? ""),
    providers,
    providerBlocks,
    variables,
    outputs,
    resources,
    data,
  };
}

/**
 * Parses one HCL file of a module or a test.
 *
 * @param file File name for errors.
 */
export async function parseHcl(file: string, text: string): Promise<HclBlock> {
  return await parse(file, text) as HclBlock;
}

/** Returns the nested blocks with a name as a list. */
export function blocks(value: HclValue | undefined): HclBlock[] {
  if (!Array.isArray(value)) return value !== null && typeof value === "object" ? [value] : [];
  return value.filter((block): block is HclBlock =>
    block !== null && typeof block === "object" && !Array.isArray(block)
  );
}

function asBlock(value: HclValue | undefined): HclBlock {
  return value !== null && typeof value === "object" && !Array.isArray(value) ? value : {};
}

function labelsInOrder(text: string, kind: string): string[] {
  return [...text.matchAll(new RegExp(`^${kind} "([^"]+)"`, "gm"))].map((match) => match[1]);
}

function toVariable(name: string, parsed: HclBlock): TerraformVariable {
  const [body = {}] = blocks(asBlock(parsed.variable)[name]);
  return {
    name,
    description: String(body.description ?? ""),
    type: unwrap(body.type),
    required: !("default" in body),
    default: body.default ?? null,
    sensitive: body.sensitive === true,
    validations: blocks(body.validation),
  };
}

function toOutput(name: string, parsed: HclBlock): TerraformOutput {
  const [body = {}] = blocks(asBlock(parsed.output)[name]);
  return { name, description: String(body.description ?? ""), sensitive: body.sensitive === true };
}

function toObjects(value: HclValue | undefined): TerraformObject[] {
  return Object.entries(asBlock(value)).flatMap(([type, byName]) =>
    Object.entries(asBlock(byName)).flatMap(([name, body]) =>
      blocks(body).map((block) => ({ type, name, body: block }))
    )
  );
}

/** Removes the `${}` that the parser adds to an expression. */
function unwrap(value: HclValue | undefined): string {
  return String(value ?? "").replace(/^\$\{([\s\S]*)\}$/, "$1");
}
