import { MappingReader } from "./source_mappings.ts";

/** The function of esbuild that sets the name of a function; minified output calls it otherwise. */
const HELPER = "__name";

/** A call of esbuild's helper in minified output, as offsets. */
export interface NameCall {
  readonly from: number;
  /** The offset behind the call. */
  readonly to: number;
  /** The function in the call, `n(() => 1, "one")`; undefined for a declared one, `n(f, "one")`. */
  readonly wrapped?: { readonly from: number; readonly to: number };
  readonly name: string;
  /** Index of its source in the source map. */
  readonly source: number;
}

interface SourceMap {
  readonly names: readonly string[];
  readonly mappings: string;
}

/** A call whose end is not found yet. */
interface OpenCall {
  readonly from: number;
  readonly source: number;
  readonly sourceLine: number;
  readonly sourceColumn: number;
}

const CALLEE = /[\w$]+\(/y;
/** The rest of `n(f,"one")`. */
const DECLARED = /([\w$]+),"([\w$]+)"\)/y;
/** The rest of `n(() => 1,"one")`, behind the function. */
const NAME = /"([\w$]+)"\)/y;

/**
 * Finds the calls with which esbuild keeps the names of functions. It writes the position of each into
 * the source map, so that the code need not be parsed: the name of the helper, and twice the position
 * of the function, at the beginning of the call and at its second argument.
 *
 * @param code Minified output of esbuild.
 * @param hasCalls Checks whether calls in a source are of interest.
 * @returns The calls, in the order of their ends, without those that name classes.
 */
export function findNameCalls(
  code: string,
  { names, mappings }: SourceMap,
  hasCalls: (source: number) => boolean,
): NameCall[] {
  const calls: NameCall[] = [];
  const open: OpenCall[] = [];
  const lines = getLineStarts(code);
  const isHelper = names.map((name) => name === HELPER);
  const reader = new MappingReader(mappings);
  const { segment } = reader;
  while (reader.next()) {
    const { line, column, source, sourceLine, sourceColumn, name, fields } = segment;
    const from = lines[line] + column;
    if (fields === 5 && isHelper[name]) {
      if (!hasCalls(source)) continue;
      const body = match(CALLEE, code, from);
      if (body === undefined) continue;
      const declared = match(DECLARED, code, body.to);
      if (declared === undefined) {
        if (!code.startsWith("class", body.to)) {
          open.push({ from, source, sourceLine, sourceColumn });
        }
      } else if (declared.groups[0] !== "this") {
        calls.push({ from, to: declared.to, name: declared.groups[1], source });
      }
    } else if (open.length > 0 && code[from] === '"' && code[from - 1] === ",") {
      const index = open.findLastIndex((each) =>
        each.source === source && each.sourceLine === sourceLine &&
        each.sourceColumn === sourceColumn
      );
      const end = index < 0 ? undefined : match(NAME, code, from);
      if (end === undefined) continue;
      const { from: start } = open[index];
      open.length = index;
      const wrapped = { from: match(CALLEE, code, start)!.to, to: from - 1 };
      calls.push({ from: start, to: end.to, wrapped, name: end.groups[0], source });
    }
  }
  return calls;
}

function match(
  pattern: RegExp,
  code: string,
  at: number,
): { readonly to: number; readonly groups: string[] } | undefined {
  pattern.lastIndex = at;
  const found = pattern.exec(code);
  return found === null ? undefined : { to: pattern.lastIndex, groups: found.slice(1) };
}

/** Returns the offset of each line. */
export function getLineStarts(code: string): number[] {
  const starts = [0];
  for (let at = code.indexOf("\n"); at >= 0; at = code.indexOf("\n", at + 1)) starts.push(at + 1);
  return starts;
}
