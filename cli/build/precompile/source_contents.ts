interface SourceMap {
  sources: string[];
  sourcesContent?: (string | null)[];
}

/**
 * Adds the code of generated modules to a source map, because they have no files.
 *
 * @param prefix The prefix of their sources.
 * @param modules Code by key.
 */
export function addSourceContents(
  map: string,
  prefix: string,
  modules: ReadonlyMap<string, string>,
): string {
  if (!map.includes(prefix)) return map;
  const parsed: SourceMap = JSON.parse(map);
  parsed.sourcesContent = parsed.sources.map((source, index) => {
    const at = source.indexOf(prefix);
    const known = parsed.sourcesContent?.[index] ?? null;
    return at < 0 ? known : modules.get(source.slice(at + prefix.length)) ?? null;
  });
  return `${JSON.stringify(parsed, null, 2)}\n`;
}
