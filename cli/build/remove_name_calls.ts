import { findNameCalls, getLineStarts, type NameCall } from "./name_calls.ts";
import { type ColumnRange, removeColumns } from "./source_mappings.ts";

/** A part of the code without which it means the same, except for the name of a function. */
interface Removal {
  readonly from: number;
  /** The offset behind it. */
  readonly to: number;
  readonly source: number;
}

/** What precedes a statement. */
const BEFORE_STATEMENT = /[;{}]$/;
/** An expression that would mean something else at the beginning of a statement. */
const NO_STATEMENT = /^(?:[{"'`]|(?:async|class|function|let)\b)/;
/** What precedes an operand that may be any function. */
const BEFORE_FUNCTION = /(?:[^=!<>]=|=>|[(,[:]|[^?]\?|\breturn )$/;
const AFTER_FUNCTION = /^[,;:)\]}]/;

/** A bundle without the removed calls. */
export interface UnnamedBundle {
  readonly code: string;
  readonly map: string;
  /** Removed bytes by source, as in the source map. */
  readonly removed: ReadonlyMap<string, number>;
}

/**
 * Removes calls with which esbuild keeps the names of functions. Classes keep their names. A call in a
 * place that is not known remains.
 *
 * @param code Minified output of esbuild.
 * @param map Its source map.
 * @param isRemoved Checks a call by the source of the function and its name; the first argument alone
 * decides whether the calls of a source are examined.
 */
export function removeNameCalls(
  code: string,
  map: string,
  isRemoved: (source: string, name?: string) => boolean,
): UnnamedBundle {
  const parsed = JSON.parse(map) as { sources: string[]; names: string[]; mappings: string };
  const { sources } = parsed;
  const examined = sources.map((source) => isRemoved(source));
  const calls = findNameCalls(code, parsed, (source) => examined[source])
    .filter(({ source, name }) => isRemoved(sources[source], name));
  const removals = planRemovals(code, calls);
  const removed = new Map<string, number>();
  let kept = "";
  let at = 0;
  for (const { from, to, source } of removals) {
    kept += code.slice(at, from);
    at = to;
    removed.set(sources[source], (removed.get(sources[source]) ?? 0) + to - from);
  }
  const mappings = removeColumns(parsed.mappings, toColumns(code, removals));
  const start = map.indexOf(parsed.mappings);
  const end = start + parsed.mappings.length;
  return {
    code: kept + code.slice(at),
    map: map.slice(0, start) + mappings + map.slice(end),
    removed,
  };
}

function planRemovals(code: string, calls: readonly NameCall[]): Removal[] {
  const removals: Removal[] = [];
  const statements: NameCall[] = [];
  for (const call of calls) {
    if (call.wrapped === undefined) statements.push(call);
    else removals.push(...unwrap(code, call, call.wrapped));
  }
  for (let index = 0; index < statements.length;) {
    let last = index;
    // n(a,"a"),n(b,"b")
    while (
      code[statements[last].to] === "," && statements[last + 1]?.from === statements[last].to + 1
    ) {
      last++;
    }
    const { from, source } = statements[index];
    const range = widen(code, from, statements[last].to);
    if (range !== undefined) removals.push({ ...range, source });
    index = last + 1;
  }
  return removals.sort((a, b) => a.from - b.from);
}

/** Removes the call around a function: `n(() => 1, "one")`. */
function unwrap(
  code: string,
  { from, to, source }: NameCall,
  wrapped: { readonly from: number; readonly to: number },
): Removal[] {
  const isOperand = BEFORE_FUNCTION.test(code.slice(Math.max(0, from - 8), from)) &&
    AFTER_FUNCTION.test(code.slice(to, to + 1));
  return isOperand ? [{ from, to: wrapped.from, source }, { from: wrapped.to, to, source }] : [];
}

/** Adds the comma or the semicolon that separates calls from other code. Their value is not used. */
function widen(code: string, from: number, to: number): { from: number; to: number } | undefined {
  const next = code[to];
  if (next === ",") {
    return NO_STATEMENT.test(code.slice(to + 1, to + 10)) ? undefined : { from, to: to + 1 };
  }
  if (code[from - 1] === ",") return { from: from - 1, to };
  if (!BEFORE_STATEMENT.test(code.slice(from - 1, from))) return undefined;
  if (next === ";") return { from, to: to + 1 };
  return next === "}" ? { from, to } : undefined;
}

/** Converts offsets to lines and columns, and merges adjacent ranges. */
function toColumns(code: string, removals: readonly Removal[]): ColumnRange[] {
  const starts = getLineStarts(code);
  const ranges: ColumnRange[] = [];
  let line = 0;
  for (const { from, to } of removals) {
    while (starts[line + 1] <= from) line++;
    const last = ranges.at(-1);
    if (last?.line === line && last.to === from - starts[line]) {
      ranges[ranges.length - 1] = { ...last, to: to - starts[line] };
    } else ranges.push({ line, from: from - starts[line], to: to - starts[line] });
  }
  return ranges;
}
