import { COMPILED } from "./schema_code.ts";

interface SourceMap {
  sources: string[];
  sourcesContent?: (string | null)[];
}

/**
 * Adds the code of compiled schemas to a source map, because they have no files.
 *
 * @param map The source map.
 * @param modules Code by key.
 */
export function addSourceContents(map: string, modules: ReadonlyMap<string, string>): string {
  if (!map.includes(COMPILED)) return map;
  const parsed: SourceMap = JSON.parse(map);
  parsed.sourcesContent = parsed.sources.map((source) => {
    const at = source.indexOf(COMPILED);
    return at < 0 ? null : modules.get(source.slice(at + COMPILED.length)) ?? null;
  });
  return `${JSON.stringify(parsed, null, 2)}\n`;
}
